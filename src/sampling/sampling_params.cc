// SPDX-License-Identifier: Apache-2.0
// Ranges are vLLM's, OpenAI's where vLLM has none.
#include "sampling/sampling_params.h"

#include <cmath>

#include "base/error.h"

namespace whinchat {
namespace {

constexpr int kMaxLogprobs = 20;

void CheckRange(const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {  // NaN too
    ThrowError(ErrorCode::kInvalidArgument,
               "{} must be between {} and {}, but is {}",
               field,
               low,
               high,
               value);
  }
}

void CheckToken(const char* field, TokenId token_id, int vocab_size) {
  if (token_id < 0 || token_id >= vocab_size) {
    ThrowError(ErrorCode::kInvalidArgument,
               "{} holds token id {}, but ids of this model are between 0 and {}",
               field,
               token_id,
               vocab_size - 1);
  }
}

void ValidateDistribution(const SamplingParams& params) {
  if (!std::isfinite(params.temperature) || params.temperature < 0.0F) {
    ThrowError(ErrorCode::kInvalidArgument,
               "temperature must be a number of at least 0, but is {}",
               params.temperature);
  }
  if (params.top_k < -1) {
    ThrowError(ErrorCode::kInvalidArgument,
               "top_k must be at least 1, or 0 or -1 for all tokens, but is {}",
               params.top_k);
  }
  if (!(params.top_p > 0.0F && params.top_p <= 1.0F)) {
    ThrowError(ErrorCode::kInvalidArgument,
               "top_p must be above 0 and at most 1, but is {}",
               params.top_p);
  }
  CheckRange("min_p", params.min_p, 0.0, 1.0);
}

void ValidateLengths(const SamplingParams& params) {
  if (params.max_tokens < 1) {
    ThrowError(
        ErrorCode::kInvalidArgument, "max_tokens must be at least 1, but is {}", params.max_tokens);
  }
  if (params.min_tokens < 0 || params.min_tokens > params.max_tokens) {
    ThrowError(ErrorCode::kInvalidArgument,
               "min_tokens must be between 0 and max_tokens ({}), but is {}",
               params.max_tokens,
               params.min_tokens);
  }
}

}  // namespace

void ValidateSamplingParams(const SamplingParams& params, int vocab_size) {
  ValidateDistribution(params);
  if (!(params.repetition_penalty > 0.0F && std::isfinite(params.repetition_penalty))) {
    ThrowError(ErrorCode::kInvalidArgument,
               "repetition_penalty must be a number above 0, but is {}",
               params.repetition_penalty);
  }
  CheckRange("presence_penalty", params.presence_penalty, -2.0, 2.0);
  CheckRange("frequency_penalty", params.frequency_penalty, -2.0, 2.0);
  for (const auto& [token_id, bias] : params.logit_bias) {
    CheckToken("logit_bias", token_id, vocab_size);
    CheckRange("logit_bias", bias, -100.0, 100.0);
  }
  ValidateLengths(params);
  for (const TokenId token_id : params.stop_token_ids) {
    CheckToken("stop_token_ids", token_id, vocab_size);
  }
  if (params.num_logprobs) {
    CheckRange("num_logprobs", *params.num_logprobs, 0, kMaxLogprobs);
  }
}

}  // namespace whinchat
