// SPDX-License-Identifier: Apache-2.0
// Logits of one position to the next token. Random numbers are keyed by (seed, position), so the
// choice does not depend on what else is in the batch. One Sampler per sequence; not thread-safe.
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
  std::vector<TokenLogprob> top_logprobs;  // greatest first; num_logprobs of them
};

class Sampler {
 public:
  // `prompt` feeds the repetition penalty; `eos_token_ids` are forbidden before min_tokens.
  Sampler(const SamplingParams& params, std::span<const TokenId> prompt);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  // `logits` [vocab_size] are not changed. `position` is the index of the token being chosen in
  // the whole sequence. NaN logits count as -inf.
  SampledToken Sample(std::span<const float> logits, int position);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
