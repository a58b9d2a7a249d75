// SPDX-License-Identifier: Apache-2.0
// Weights exp((logit - max) / temperature) in double, of a whole vocabulary or of single logits.
// The maths decides tokens, so it is the same on every platform: an exponential of our own (libm's
// differ), no fused multiply-adds, sums in eight fixed lanes.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

// exp(x) for -700 <= x <= 0, within 1e-15 relative: Cody-Waite reduction x = n ln2 + r with
// |r| <= ln2 / 2, then the Taylor series to degree 13. 0 below -700 and for NaN; 1 above 0. In the
// header so that loops over it are vectorized.
inline double ExpNonPositive(double x) {
  constexpr double kLowest = -700.0;  // 2^n stays normal
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits: n * high is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double at_least = x >= kLowest ? x : kLowest;
  const double clamped = at_least > 0.0 ? 0.0 : at_least;
  const double rounded = clamped * kLog2E + kRound;
  const double n = rounded - kRound;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;
  // Written out: a loop here keeps the compiler from vectorizing the loops around it.
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 1.0 / 2.0;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const uint64_t exponent = std::bit_cast<uint64_t>(rounded) - std::bit_cast<uint64_t>(kRound);
  const double result = sum * std::bit_cast<double>((exponent + 1023) << 52);
  return x >= kLowest ? result : 0.0;
}

class Softmax {
 public:
  // `max_logit` is the greatest of the logits, above -inf. Weights below `min_weight` count as 0:
  // min_p, as the greatest weight is 1.
  Softmax(float max_logit, double temperature, double min_weight);

  double WeightOf(float logit) const {
    const double weight =
        ExpNonPositive((static_cast<double>(logit) - max_) * inverse_temperature_);
    return weight >= min_weight_ ? weight : 0.0;
  }

  // The sum of all weights. Fills `tile_sums` for Draw.
  double Sum(std::span<const float> logits, std::vector<double>* tile_sums) const;

  // The token at which the running sum of weights passes `target`, 0 <= target < Sum().
  TokenId Draw(std::span<const float> logits,
               std::span<const double> tile_sums,
               double target) const;

 private:
  double max_;
  double inverse_temperature_;
  double min_weight_;
};

}  // namespace whinchat
