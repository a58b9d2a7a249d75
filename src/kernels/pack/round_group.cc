// SPDX-License-Identifier: Apache-2.0
// Round to nearest in groups of 32. Loops run over fixed lanes, which compilers vectorise without
// leave to reorder floating-point arithmetic.
#include "kernels/pack/round_group.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/float16.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {
namespace {

constexpr int kLanes = 8;
constexpr uint16_t kFloat16Infinity = 0x7c00;
// Adding 1.5 * 2^23 leaves a small number's nearest integer in the low mantissa bits.
constexpr float kRoundingMagic = 12582912.0f;
constexpr int32_t kRoundingMagicBits = 0x4b400000;

struct Extremes {
  float lowest = 0;
  float highest = 0;
  bool is_finite = true;
};

Extremes FindExtremes(const float* values) {
  float lowest[kLanes];
  float highest[kLanes];
  int32_t magnitude[kLanes] = {};
  std::copy_n(values, kLanes, lowest);
  std::copy_n(values, kLanes, highest);
  for (int i = 0; i < kGroupSize; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      const int32_t bits = std::bit_cast<int32_t>(value) & 0x7fffffff;
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      magnitude[lane] = bits > magnitude[lane] ? bits : magnitude[lane];
    }
  }
  return {*std::min_element(lowest, lowest + kLanes),
          *std::max_element(highest, highest + kLanes),
          *std::max_element(magnitude, magnitude + kLanes) < 0x7f800000};
}

// A type's signed codes, and how scale and min follow from the extremes.
struct Grid {
  float scale = 0;  // before rounding to fp16; may be negative
  float min = 0;    // already a value of fp16
  int lowest_code = 0;
  int highest_code = 0;
};

float RoundToFloat16(float value) {
  return Float16ToFloat(FloatToFloat16(value));
}

Grid ChooseGrid(PackedType type, const Extremes& extremes) {
  const float lowest = extremes.lowest;
  const float highest = extremes.highest;
  switch (type) {
    case PackedType::kW8G32Min: {
      const float middle = RoundToFloat16(0.5f * lowest + 0.5f * highest);
      return {std::max(highest - middle, middle - lowest) / 127, middle, -127, 127};
    }
    case PackedType::kW4G32: {
      // -8 has no positive counterpart: it goes to the greater side.
      const float extreme = -lowest > highest ? lowest : highest;
      return {extreme / -8, 0, -8, 7};
    }
    case PackedType::kW4G32Min: {
      const float min = RoundToFloat16(lowest);
      return {std::max(highest - min, 0.0f) / 15, min, 0, 15};
    }
    case PackedType::kW8G32:
    case PackedType::kW8:
    case PackedType::kW4:
    case PackedType::kF32:
    case PackedType::kBF16:
      break;
  }
  return {std::max(-lowest, highest) / 127, 0, -127, 127};
}

}  // namespace

int CodeBias(PackedType type) {
  switch (type) {
    case PackedType::kW8G32:
    case PackedType::kW8G32Min:
    case PackedType::kW8:
      return 128;
    case PackedType::kW4G32:
    case PackedType::kW4:
      return 8;
    case PackedType::kW4G32Min:
    case PackedType::kF32:
    case PackedType::kBF16:
      return 0;
  }
  return 0;
}

PackResult RoundGroup(PackedType type, const float* values, RoundedGroup& group) {
  const Extremes extremes = FindExtremes(values);
  if (!extremes.is_finite) {
    return PackResult::kNotFinite;
  }
  const Grid grid = ChooseGrid(type, extremes);
  const uint16_t magnitude = FloatToFloat16RoundUp(std::fabs(grid.scale));
  if (magnitude >= kFloat16Infinity || std::isinf(grid.min)) {
    return PackResult::kTooLarge;
  }
  group.scale = static_cast<uint16_t>(magnitude | (std::signbit(grid.scale) ? 0x8000 : 0));
  group.min = FloatToFloat16(grid.min);
  const float scale = Float16ToFloat(group.scale);
  const float inverse = magnitude == 0 ? 0.0f : 1.0f / scale;
  const int bias = CodeBias(type);
  for (int i = 0; i < kGroupSize; ++i) {
    const float rounded = (values[i] - grid.min) * inverse + kRoundingMagic;
    const int32_t code = std::bit_cast<int32_t>(rounded) - kRoundingMagicBits;
    group.codes[i] =
        static_cast<uint8_t>(std::clamp(code, grid.lowest_code, grid.highest_code) + bias);
  }
  return PackResult::kOk;
}

}  // namespace whinchat::kernels
