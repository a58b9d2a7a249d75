// SPDX-License-Identifier: Apache-2.0
// Logits of one position to the next token. Random numbers are keyed by (seed, position), so the
// choice does not depend on what else is in the batch. One Sampler per sequence; not thread-safe.
// Order, as vLLM V1: min_tokens forbids stop tokens, logit_bias, repetition_penalty,
// frequency_penalty, presence_penalty; greedy choice here if temperature is 0 (below 1e-5; the
// lowest id among equals); temperature, min_p, top_k, top_p (of what is left), draw.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "sampling/sampling_params.h"

namespace whinchat {

struct TokenLogprob {
  TokenId token_id = 0;
  float logprob = 0.0F;  // natural logarithm, of the raw logits before penalties and temperature
};

struct SampledToken {
  TokenId token_id = 0;
  float logprob = 0.0F;                    // set if num_logprobs is
  std::vector<TokenLogprob> top_logprobs;  // greatest first; num_logprobs of them, those above -inf
};

class Sampler {
 public:
  // `params` are valid (ValidateSamplingParams) and have a seed unless greedy. `prompt` feeds the
  // repetition penalty; the sampled tokens are counted by Sample itself.
  Sampler(const SamplingParams& params, std::span<const TokenId> prompt);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  // `logits` [vocab_size] are not changed. `position` is the index of the token being chosen in
  // the whole sequence. NaN logits count as -inf. If every token is forbidden: the greatest of the
  // model's own logits, or token 0 if it has none.
  SampledToken Sample(std::span<const float> logits, int position);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
