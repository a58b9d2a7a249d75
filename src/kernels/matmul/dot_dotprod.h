// SPDX-License-Identifier: Apache-2.0
// The dot product of a group by SDOT: 16 activations of a token in one register, picked 4 at a
// time by lane. w8 codes lose their bias by XOR 0x80; w4 codes 0..15 are signed bytes as they are.
// Cortex-A76: SDOT two a cycle, latency 2; 4 tokens x 16 rows make 16 independent sums.
#pragma once

#include <arm_neon.h>

#include "kernels/matmul/quantized_neon.h"

namespace whinchat::kernels {
namespace {

template <int kBits, int kBiasValue>
struct Dot {
  static constexpr int kBias = kBiasValue;
  static constexpr int kTileTokens = 4;

  template <int kLane, int kTokens>
  static inline void Step(const uint8_t* line,
                          const int8x16_t (&activations)[kTokens],
                          int32x4_t (&isum)[kTokens][kQuarters]) {
    if constexpr (kBits == 8) {
      __builtin_prefetch(line + kPrefetchBytes);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      uint8x16_t codes = vld1q_u8(line + q * 16);
      if constexpr (kBits == 8) {
        codes = veorq_u8(codes, vdupq_n_u8(0x80));
      }
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
        isum[t][q] = vdotq_laneq_s32(isum[t][q], vreinterpretq_s8_u8(codes), activations[t], kLane);
      }
    }
  }

  template <int kTokens>
  static inline void Group(const uint8_t* codes,
                           const int8_t* lhs,
                           size_t lhs_stride,
                           int32x4_t (&isum)[kTokens][kQuarters]) {
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        isum[t][q] = vdupq_n_s32(0);
      }
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      int8x16_t activations[kTokens];
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
        activations[t] = vld1q_s8(lhs + static_cast<size_t>(t) * lhs_stride + half * 16);
      }
      const uint8_t* const line = codes + half * 4 * static_cast<int>(kLineBytes);
      Step<0>(line, activations, isum);
      Step<1>(line + kLineBytes, activations, isum);
      Step<2>(line + 2 * kLineBytes, activations, isum);
      Step<3>(line + 3 * kLineBytes, activations, isum);
    }
  }
};

}  // namespace
}  // namespace whinchat::kernels
