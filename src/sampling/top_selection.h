// SPDX-License-Identifier: Apache-2.0
// The greatest logits of a vocabulary without sorting it. NaN and -inf are never selected.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

struct Candidate {
  float logit = 0.0F;
  TokenId token_id = 0;

  // Greater logit first; the lower id among equals.
  bool IsBefore(const Candidate& other) const {
    return logit > other.logit || (logit == other.logit && token_id < other.token_id);
  }
};

// The greatest, the lowest id among equals; nothing if there is none above -inf.
std::optional<Candidate> SelectGreatest(std::span<const float> logits);

// The `k` greatest in order, k >= 1; fewer if fewer are above -inf. O(vocab_size) for small k.
// `top` keeps its memory between calls.
void SelectTop(std::span<const float> logits, int k, std::vector<Candidate>* top);

}  // namespace whinchat
