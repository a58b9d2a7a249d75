// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace whinchat {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMib = size_t{1} << 20;

// 100 MiB of weights, 10 of scratch, 1 MiB for each 32 tokens.
MemoryNeeds MakeNeeds(size_t budget_mib) {
  MemoryNeeds needs;
  needs.weight_bytes = 100 * kMib;
  needs.scratch_bytes = 10 * kMib;
  needs.kv_block_bytes = kMib;
  needs.model_max_len = 40960;
  needs.max_num_seqs = 4;
  needs.budget_bytes = budget_mib * kMib;
  return needs;
}

void ExpectError(const MemoryNeeds& needs,
                 ErrorCode code,
                 const testing::Matcher<std::string>& message) {
  try {
    PlanMemory(needs);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.message(), message);
  }
}

TEST(PlanMemory, WithPlentyTheContextIsTheDefaultAndEverySequenceFits) {
  const MemoryPlan plan = PlanMemory(MakeNeeds(100000));
  EXPECT_EQ(plan.max_model_len, 8192);
  EXPECT_EQ(plan.num_kv_blocks, 4 * 256);
  EXPECT_EQ(plan.kv_bytes, 1024 * kMib);
  EXPECT_EQ(plan.total_bytes, 1134 * kMib);
}

TEST(PlanMemory, AModelMadeForLessGetsItsOwnContext) {
  MemoryNeeds needs = MakeNeeds(100000);
  needs.model_max_len = 2048;
  EXPECT_EQ(PlanMemory(needs).max_model_len, 2048);
}

TEST(PlanMemory, TheBudgetIsNeverExceeded) {
  for (size_t budget_mib = 118; budget_mib < 2000; budget_mib += 7) {
    const MemoryPlan plan = PlanMemory(MakeNeeds(budget_mib));
    EXPECT_LE(plan.total_bytes, budget_mib * kMib);
    EXPECT_GE(plan.num_kv_blocks * 32, plan.max_model_len);
  }
}

TEST(PlanMemory, TheContextShrinksToTheBudget) {
  const MemoryPlan plan = PlanMemory(MakeNeeds(110 + 64));
  EXPECT_EQ(plan.max_model_len, 64 * 32);
  EXPECT_EQ(plan.num_kv_blocks, 64);
}

TEST(PlanMemory, FewerSequencesFitBeforeTheContextShrinks) {
  const MemoryPlan plan = PlanMemory(MakeNeeds(110 + 300));
  EXPECT_EQ(plan.max_model_len, 8192);
  EXPECT_EQ(plan.num_kv_blocks, 300);
}

TEST(PlanMemory, AnAskedForContextIsKept) {
  MemoryNeeds needs = MakeNeeds(100000);
  needs.max_model_len = 1000;
  const MemoryPlan plan = PlanMemory(needs);
  EXPECT_EQ(plan.max_model_len, 1000);
  EXPECT_EQ(plan.num_kv_blocks, 4 * 32);
}

TEST(PlanMemory, AnAskedForContextThatDoesNotFitIsAnErrorWithTheNumbers) {
  MemoryNeeds needs = MakeNeeds(200);
  needs.max_model_len = 32000;
  ExpectError(needs,
              ErrorCode::kOutOfMemory,
              AllOf(HasSubstr("200 MiB"),
                    HasSubstr("100 MiB of weights"),
                    HasSubstr("1000 MiB for a context of 32000")));
}

TEST(PlanMemory, AContextTheModelCannotHaveIsRefused) {
  MemoryNeeds needs = MakeNeeds(100000);
  needs.max_model_len = 40961;
  ExpectError(
      needs, ErrorCode::kInvalidArgument, AllOf(HasSubstr("40961"), HasSubstr("1 to 40960")));
  needs.max_model_len = 0;
  ExpectError(needs, ErrorCode::kInvalidArgument, HasSubstr("max_model_len is 0"));
}

TEST(PlanMemory, ABudgetBelowTheWeightsIsAnError) {
  ExpectError(MakeNeeds(50), ErrorCode::kOutOfMemory, HasSubstr("does not hold"));
  ExpectError(MakeNeeds(0), ErrorCode::kOutOfMemory, HasSubstr("0 MiB does not hold"));
}

}  // namespace
}  // namespace whinchat
