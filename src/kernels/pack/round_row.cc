// SPDX-License-Identifier: Apache-2.0
// Loops run over fixed lanes, which compilers vectorise without leave to reorder floating-point
// arithmetic.
#include "kernels/pack/round_row.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace whinchat::kernels {
namespace {

constexpr int kLanes = 8;
// Adding 1.5 * 2^23 leaves a small number's nearest integer in the low mantissa bits.
constexpr float kRoundingMagic = 12582912.0f;
constexpr int32_t kRoundingMagicBits = 0x4b400000;
// A smaller maximum counts as zero: the reciprocal of its scale could overflow.
constexpr float kLeastMax = 0x1p-100f;
// Products of scale and code stay finite below this.
constexpr float kGreatestMax = 1e38f;
constexpr int kMaxSubScale = 15;
constexpr int kMaxCode4 = 7;
constexpr int kMinCode4 = -8;

// The bits of the greatest magnitude: of a NaN or an infinity, if there is one.
int32_t GreatestBits(const float* values, int count) {
  int32_t greatest[kLanes] = {};
  for (int i = 0; i < count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int32_t bits = std::bit_cast<int32_t>(values[i + lane]) & 0x7fffffff;
      greatest[lane] = bits > greatest[lane] ? bits : greatest[lane];
    }
  }
  return *std::max_element(greatest, greatest + kLanes);
}

int32_t Nearest(float value, int lowest, int highest) {
  const int32_t code = std::bit_cast<int32_t>(value + kRoundingMagic) - kRoundingMagicBits;
  return std::clamp(code, lowest, highest);
}

void RoundRow8(const float* values, int k, RoundedRow& row) {
  const float inverse = row.scale == 0 ? 0.0f : 1.0f / row.scale;
  for (int i = 0; i < k; ++i) {
    row.codes[i] = static_cast<uint8_t>(Nearest(values[i] * inverse, -127, 127) + 128);
  }
}

// The squared error of a group whose values are rounded to multiples of `sub_scale`, both in units
// of the row scale, so that squares neither overflow nor vanish.
float SquaredError4(const float* values, float inverse_row_scale, int sub_scale) {
  const float inverse = inverse_row_scale / static_cast<float>(sub_scale);
  float errors[kLanes] = {};
  for (int i = 0; i < kGroupSize; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float steps = values[i + lane] * inverse;
      const float clamped = std::min(std::max(steps, float{kMinCode4}), float{kMaxCode4});
      const float error = clamped + kRoundingMagic - kRoundingMagic - steps;
      errors[lane] += error * error;
    }
  }
  float sum = 0;
  for (const float error : errors) {
    sum += error;
  }
  return sum * static_cast<float>(sub_scale * sub_scale);
}

struct SubScaleChoice {
  int sub_scale = 1;
  float error = std::numeric_limits<float>::infinity();
};

// The best sub-scale of one group under a row scale. Steps at which the greatest value's code would
// be beyond 12 or below 5 are not tried: they lose by clipping or by coarseness.
SubScaleChoice ChooseSubScale(const float* values, float inverse_row_scale) {
  const float units = std::bit_cast<float>(GreatestBits(values, kGroupSize)) * inverse_row_scale;
  const int lowest = std::clamp(static_cast<int>(units / 12), 1, kMaxSubScale);
  const int highest = std::clamp(static_cast<int>(units / 5) + 1, lowest, kMaxSubScale);
  SubScaleChoice best;
  for (int sub_scale = lowest; sub_scale <= highest; ++sub_scale) {
    const float error = SquaredError4(values, inverse_row_scale, sub_scale);
    if (error < best.error) {
      best = {sub_scale, error};
    }
  }
  return best;
}

// The row scale with the least error among some from `greatest / (7 * 15)`, where no group has to
// clip, downwards.
float ChooseRowScale4(const float* values, int k, float greatest) {
  constexpr int kCandidates = 4;
  constexpr float kStep = 0.08f;
  float best_scale = 0;
  double best_error = std::numeric_limits<double>::infinity();
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const float shrink = 1.0f - kStep * static_cast<float>(candidate);
    const float row_scale = greatest / (kMaxCode4 * kMaxSubScale) * shrink;
    double error = 0;
    for (int begin = 0; begin < k; begin += kGroupSize) {
      error += double{ChooseSubScale(values + begin, 1.0f / row_scale).error};
    }
    error *= double{shrink} * double{shrink};
    if (error < best_error) {
      best_error = error;
      best_scale = row_scale;
    }
  }
  return best_scale;
}

void RoundRow4(const float* values, int k, RoundedRow& row) {
  const float inverse_row_scale = row.scale == 0 ? 0.0f : 1.0f / row.scale;
  for (int begin = 0; begin < k; begin += kGroupSize) {
    const int sub_scale = ChooseSubScale(values + begin, inverse_row_scale).sub_scale;
    row.sub_scales[begin / kGroupSize] = static_cast<uint8_t>(sub_scale);
    const float inverse = inverse_row_scale / static_cast<float>(sub_scale);
    for (int i = begin; i < begin + kGroupSize; ++i) {
      row.codes[i] = static_cast<uint8_t>(Nearest(values[i] * inverse, kMinCode4, kMaxCode4) + 8);
    }
  }
}

}  // namespace

PackResult RoundRow(PackedType type, const float* values, int k, RoundedRow& row) {
  WHINCHAT_CHECK(HasRowScales(type));
  const int32_t greatest_bits = GreatestBits(values, k);
  if (greatest_bits >= 0x7f800000) {
    return PackResult::kNotFinite;
  }
  const float greatest = std::bit_cast<float>(greatest_bits);
  if (greatest > kGreatestMax) {
    return PackResult::kTooLarge;
  }
  const bool is_zero = greatest < kLeastMax;
  if (type == PackedType::kW8) {
    row.scale = is_zero ? 0.0f : greatest / 127;
    RoundRow8(values, k, row);
  } else {
    row.scale = is_zero ? 0.0f : ChooseRowScale4(values, k, greatest);
    RoundRow4(values, k, row);
  }
  return PackResult::kOk;
}

}  // namespace whinchat::kernels
