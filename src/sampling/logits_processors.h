// SPDX-License-Identifier: Apache-2.0
// What changes logits before greedy or random choice, in vLLM's order: min_tokens, logit_bias, then
// the repetition, frequency and presence penalties. Knows the sequence's tokens so far.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"
#include "sampling/sampling_params.h"

namespace whinchat {

class LogitsProcessors {
 public:
  LogitsProcessors(const SamplingParams& params, std::span<const TokenId> prompt);

  // The changed logits, valid until the next call; `logits` itself if nothing applies.
  std::span<const float> Apply(std::span<const float> logits);

  // Counts a token of the output.
  void Append(TokenId token_id);

 private:
  struct SeenToken {
    TokenId token_id = 0;
    int num_outputs = 0;  // 0: in the prompt only
  };

  SeenToken& Seen(TokenId token_id);
  void ForbidStopTokens();
  void ApplyPenalties();

  float repetition_penalty_;
  float presence_penalty_;
  float frequency_penalty_;
  int min_tokens_;
  std::vector<TokenId> stop_token_ids_;
  std::vector<std::pair<TokenId, float>> logit_bias_;
  bool has_penalties_;

  int num_output_tokens_ = 0;
  std::vector<SeenToken> seen_;  // each token once; filled only if there are penalties
  std::unordered_map<TokenId, size_t> seen_idx_;
  std::vector<float> logits_;  // [vocab_size] once something applies
};

}  // namespace whinchat
