// SPDX-License-Identifier: Apache-2.0
// How the next token is chosen. Names and meanings are vLLM's SamplingParams.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

struct SamplingParams {
  float temperature = 1.0F;  // 0: greedy
  int top_k = 0;             // 0 or -1: all
  float top_p = 1.0F;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;  // over prompt and output, as Hugging Face
  float presence_penalty = 0.0F;    // over the output, as OpenAI
  float frequency_penalty = 0.0F;
  std::optional<uint64_t> seed;  // nothing: chosen at random when the request is submitted
  std::unordered_map<TokenId, float> logit_bias;

  int max_tokens = 1024;
  int min_tokens = 0;                   // no stop token before that many
  std::vector<TokenId> stop_token_ids;  // the model's EOS set is added by the pipeline
  bool ignore_eos = false;          // stop_token_ids are still honoured; the EOS set is not added
  std::optional<int> num_logprobs;  // of the chosen token and the most likely; 0..20
};

// Throws Error{kInvalidArgument} that names the first field outside its range, and the range.
void ValidateSamplingParams(const SamplingParams& params, int vocab_size);

}  // namespace whinchat
