// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 to fp32, exactly. Internal linkage: kernel files of every ISA include this, and
// a shared inline copy could be the one that was compiled for a higher ISA.
#pragma once

#include <cstdint>
#include <cstring>

namespace whinchat::kernels {

[[maybe_unused]] static inline float FloatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

[[maybe_unused]] static inline float BF16ToFloat(uint16_t bits) {
  return FloatFromBits(static_cast<uint32_t>(bits) << 16);
}

[[maybe_unused]] static inline float HalfToFloat(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 0x1FU) {
    return FloatFromBits(sign | 0x7F800000U | (fraction << 13));
  }
  return FloatFromBits(sign | ((exponent + 112) << 23) | (fraction << 13));
}

}  // namespace whinchat::kernels
