// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 to and from fp32, in integer arithmetic and without branches, so that loops over
// them vectorise on any ISA and give the bits of the hardware's own conversions. Rounding is to
// nearest even. No step makes an fp32 denormal, so flush-to-zero modes change nothing. Internal
// linkage: files of any ISA may include this without sharing one ISA's code.
#pragma once

#include <bit>
#include <cstdint>

namespace whinchat {

// The greatest finite fp16.
inline constexpr float kMaxFloat16 = 65504.0f;

// Exact. Infinities stay, NaNs stay NaNs.
[[maybe_unused]] static inline float Float16ToFloat(uint16_t half) {
  constexpr uint32_t kMinNormal = 0x38800000;  // 2^-14 as fp32
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t shifted = magnitude << 13;
  const uint32_t normal = shifted + (112u << 23);  // exponent bias 15 -> 127
  const uint32_t special = shifted | 0x7f800000u;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(kMinNormal + (shifted & 0x007fffffu)) -
                              std::bit_cast<float>(kMinNormal));
  uint32_t bits = magnitude < 0x0400u ? subnormal : normal;
  bits = magnitude >= 0x7c00u ? special : bits;
  return std::bit_cast<float>(bits | sign);
}

// Rounds to nearest even; magnitudes of 65,520 and more become infinity.
[[maybe_unused]] static inline uint16_t FloatToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14, adding 0.5 leaves the value in units of 2^-24, rounded, in the low mantissa bits.
  const uint32_t small = magnitude < 0x38800000u ? magnitude : 0u;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(small) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65,520
  half = magnitude > 0x7f800000u ? 0x7e00u : half;   // NaN
  return static_cast<uint16_t>(half | ((bits >> 16) & 0x8000u));
}

// The least fp16 that is not below `value`. Precondition: value >= 0.
[[maybe_unused]] static inline uint16_t FloatToFloat16RoundUp(float value) {
  const uint16_t nearest = FloatToFloat16(value);
  return static_cast<uint16_t>(nearest + (Float16ToFloat(nearest) < value ? 1 : 0));
}

[[maybe_unused]] static inline float BFloat16ToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16);
}

// Rounds to nearest even; NaNs stay NaNs.
[[maybe_unused]] static inline uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x0040u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

}  // namespace whinchat
