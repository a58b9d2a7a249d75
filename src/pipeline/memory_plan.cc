// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory_plan.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/error.h"
#include "tensor/kv_layout.h"

namespace whinchat {
namespace {

// Less is no use for a conversation.
constexpr int kMinModelLen = 256;

int64_t NumBlocks(int num_tokens) {
  return (num_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

double Mib(size_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

[[noreturn]] void ThrowTooSmall(const MemoryNeeds& needs, int max_model_len) {
  const size_t kv_bytes = static_cast<size_t>(NumBlocks(max_model_len)) * needs.kv_block_bytes;
  ThrowError(ErrorCode::kOutOfMemory,
             "the memory budget of {:.0f} MiB does not hold {:.0f} MiB of weights, {:.0f} MiB of "
             "scratch memory and {:.0f} MiB for a context of {} tokens: free memory, raise the "
             "budget, or choose a smaller model or context",
             Mib(needs.budget_bytes),
             Mib(needs.weight_bytes),
             Mib(needs.scratch_bytes),
             Mib(kv_bytes),
             max_model_len);
}

}  // namespace

MemoryPlan PlanMemory(const MemoryNeeds& needs) {
  WHINCHAT_CHECK(needs.kv_block_bytes > 0 && needs.max_num_seqs > 0 && needs.model_max_len > 0);
  if (needs.max_model_len &&
      (*needs.max_model_len < 1 || *needs.max_model_len > needs.model_max_len)) {
    ThrowError(ErrorCode::kInvalidArgument,
               "max_model_len is {}, but this model has contexts of 1 to {} tokens",
               *needs.max_model_len,
               needs.model_max_len);
  }
  const size_t fixed_bytes = needs.weight_bytes + needs.scratch_bytes;
  const size_t left_bytes = needs.budget_bytes - std::min(needs.budget_bytes, fixed_bytes);
  const auto num_fitting = static_cast<int64_t>(
      std::min<size_t>(left_bytes / needs.kv_block_bytes, INT32_MAX / kKvBlockTokens));

  MemoryPlan plan;
  if (needs.max_model_len) {
    plan.max_model_len = *needs.max_model_len;
  } else {
    const int wanted = std::min(needs.model_max_len, kDefaultMaxModelLen);
    const int smallest = std::min(wanted, kMinModelLen);
    plan.max_model_len =
        std::max(smallest, std::min(wanted, static_cast<int>(num_fitting) * kKvBlockTokens));
  }
  const int64_t num_for_one = NumBlocks(plan.max_model_len);
  if (num_fitting < num_for_one) {
    ThrowTooSmall(needs, plan.max_model_len);
  }
  const int64_t num_for_all = num_for_one * needs.max_num_seqs;
  plan.num_kv_blocks = static_cast<int>(std::min(num_for_all, num_fitting));
  plan.kv_bytes = static_cast<size_t>(plan.num_kv_blocks) * needs.kv_block_bytes;
  plan.total_bytes = fixed_bytes + plan.kv_bytes;
  return plan;
}

}  // namespace whinchat
