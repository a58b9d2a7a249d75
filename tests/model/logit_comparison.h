// SPDX-License-Identifier: Apache-2.0
// Distances between logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "golden_logits.h"

namespace whinchat {

inline double LogSumExp(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - max);
  }
  return max + std::log(sum);
}

// KL(p || q) of the softmaxes, in nats.
inline double KlDivergence(std::span<const float> p_logits, std::span<const float> q_logits) {
  const double p_norm = LogSumExp(p_logits);
  const double q_norm = LogSumExp(q_logits);
  double divergence = 0;
  for (size_t i = 0; i < p_logits.size(); ++i) {
    const double p_log = p_logits[i] - p_norm;
    divergence += std::exp(p_log) * (p_log - (q_logits[i] - q_norm));
  }
  return divergence;
}

// The greatest difference from a golden position: of its logits, and of the logsumexp.
inline double MaxDifference(const GoldenPosition& golden, std::span<const float> logits) {
  double difference = std::abs(LogSumExp(logits) - golden.logsumexp);
  for (size_t i = 0; i < kGoldenTop; ++i) {
    const double logit = logits[golden.token_ids[i]];
    difference = std::max(difference, std::abs(logit - golden.logits[i]));
  }
  return difference;
}

}  // namespace whinchat
