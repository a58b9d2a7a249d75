// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampling_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"

namespace whinchat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SamplingParams, DefaultsAndTheEndsOfEachRangeAreValid) {
  EXPECT_NO_THROW(ValidateSamplingParams(SamplingParams{}, 10));
  SamplingParams params;
  params.temperature = 0.0F;
  params.top_k = -1;
  params.top_p = 1e-6F;
  params.min_p = 1.0F;
  params.repetition_penalty = 0.01F;
  params.presence_penalty = -2.0F;
  params.frequency_penalty = 2.0F;
  params.logit_bias = {{0, -100.0F}, {9, 100.0F}};
  params.max_tokens = 1;
  params.min_tokens = 1;
  params.stop_token_ids = {0, 9};
  params.num_logprobs = 20;
  EXPECT_NO_THROW(ValidateSamplingParams(params, 10));
}

TEST(SamplingParams, EachErrorNamesItsFieldAndItsRange) {
  struct Case {
    std::function<void(SamplingParams&)> spoil;
    const char* field;
    const char* range;
  };
  const Case cases[] = {
      {[](auto& p) { p.temperature = -0.1F; }, "temperature", "at least 0"},
      {[](auto& p) { p.temperature = NAN; }, "temperature", "at least 0"},
      {[](auto& p) { p.temperature = INFINITY; }, "temperature", "at least 0"},
      {[](auto& p) { p.top_k = -2; }, "top_k", "at least 1"},
      {[](auto& p) { p.top_p = 0.0F; }, "top_p", "above 0 and at most 1"},
      {[](auto& p) { p.top_p = 1.01F; }, "top_p", "above 0 and at most 1"},
      {[](auto& p) { p.top_p = NAN; }, "top_p", "above 0 and at most 1"},
      {[](auto& p) { p.min_p = -0.5F; }, "min_p", "between 0 and 1"},
      {[](auto& p) { p.min_p = NAN; }, "min_p", "between 0 and 1"},
      {[](auto& p) { p.repetition_penalty = 0.0F; }, "repetition_penalty", "above 0"},
      {[](auto& p) { p.repetition_penalty = INFINITY; }, "repetition_penalty", "above 0"},
      {[](auto& p) { p.presence_penalty = 2.5F; }, "presence_penalty", "between -2 and 2"},
      {[](auto& p) { p.frequency_penalty = -2.5F; }, "frequency_penalty", "between -2 and 2"},
      {[](auto& p) { p.logit_bias = {{10, 1.0F}}; }, "logit_bias", "between 0 and 9"},
      {[](auto& p) { p.logit_bias = {{1, 101.0F}}; }, "logit_bias", "between -100 and 100"},
      {[](auto& p) { p.max_tokens = 0; }, "max_tokens", "at least 1"},
      {[](auto& p) { p.min_tokens = -1; }, "min_tokens", "between 0 and max_tokens (1024)"},
      {[](auto& p) { p.min_tokens = 1025; }, "min_tokens", "between 0 and max_tokens (1024)"},
      {[](auto& p) { p.stop_token_ids = {-1}; }, "stop_token_ids", "between 0 and 9"},
      {[](auto& p) { p.num_logprobs = 21; }, "num_logprobs", "between 0 and 20"},
  };
  for (const Case& spoiled : cases) {
    SCOPED_TRACE(spoiled.field);
    SamplingParams params;
    spoiled.spoil(params);
    try {
      ValidateSamplingParams(params, 10);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.message(), AllOf(HasSubstr(spoiled.field), HasSubstr(spoiled.range)));
    }
  }
}

}  // namespace
}  // namespace whinchat
