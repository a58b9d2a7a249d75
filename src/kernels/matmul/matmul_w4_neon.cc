// SPDX-License-Identifier: Apache-2.0
// w4 for NEON without dot products (Cortex-A53, A57, A72). A product of a code and an activation is
// at most 15 x 127 = 1,905, so 8 of them (a group's steps) add up in 16 bits (SMLAL) and widen
// once. Cortex-A57: SMLAL one a cycle; 8 for each line and token bound this kernel.
#include "kernels/matmul/quantized_neon.h"

namespace whinchat::kernels {
namespace {

template <int kBiasValue>
struct Dot {
  static constexpr int kBias = kBiasValue;
  static constexpr int kTileTokens = 2;

  template <int kTokens>
  static inline void Group(const uint8_t* codes,
                           const int8_t* lhs,
                           size_t lhs_stride,
                           int32x4_t (&isum)[kTokens][kQuarters]) {
    int16x8_t pairs[kTokens][kQuarters][2];  // 2 rows x 4 k each
#pragma GCC unroll 2
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        pairs[t][q][0] = vdupq_n_s16(0);
        pairs[t][q][1] = vdupq_n_s16(0);
      }
    }
#pragma GCC unroll 8
    for (int step = 0; step < kStepsPerGroup; ++step) {
      int8x8_t activations[kTokens];  // 4 codes, twice
#pragma GCC unroll 2
      for (int t = 0; t < kTokens; ++t) {
        int32_t word;
        __builtin_memcpy(&word, lhs + static_cast<size_t>(t) * lhs_stride + step * 4, sizeof(word));
        activations[t] = vreinterpret_s8_s32(vdup_n_s32(word));
      }
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        const int8x16_t weights =
            vreinterpretq_s8_u8(vld1q_u8(codes + step * static_cast<int>(kLineBytes) + q * 16));
#pragma GCC unroll 2
        for (int t = 0; t < kTokens; ++t) {
          pairs[t][q][0] = vmlal_s8(pairs[t][q][0], vget_low_s8(weights), activations[t]);
          pairs[t][q][1] = vmlal_s8(pairs[t][q][1], vget_high_s8(weights), activations[t]);
        }
      }
    }
#pragma GCC unroll 2
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        isum[t][q] = vpaddq_s32(vpaddlq_s16(pairs[t][q][0]), vpaddlq_s16(pairs[t][q][1]));
      }
    }
  }
};

}  // namespace

void MatmulW4Neon(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<0>, 4, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<8>, 4, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
