// SPDX-License-Identifier: Apache-2.0
// w8 for NEON without dot products. With the bias taken off (XOR 0x80) a product is at most
// 128 x 127, so two of them (32,512) add up in 16 bits: SMULL, SMLAL, then SADALP into 32 bits.
#include "kernels/matmul/quantized_neon.h"

namespace whinchat::kernels {
namespace {

struct Dot {
  static constexpr int kBias = 0;
  static constexpr int kTileTokens = 2;

  static int8x16_t SignedCodes(const uint8_t* codes) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(codes), vdupq_n_u8(0x80)));
  }

  // 4 activations, twice.
  static int8x8_t Activations(const int8_t* codes) {
    int32_t word;
    __builtin_memcpy(&word, codes, sizeof(word));
    return vreinterpret_s8_s32(vdup_n_s32(word));
  }

  template <int kTokens>
  static inline void Group(const uint8_t* codes,
                           const int8_t* lhs,
                           size_t lhs_stride,
                           int32x4_t (&isum)[kTokens][kQuarters]) {
    int32x4_t halves[kTokens][kQuarters][2];  // 2 rows x 2 partial sums each
#pragma GCC unroll 2
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        halves[t][q][0] = vdupq_n_s32(0);
        halves[t][q][1] = vdupq_n_s32(0);
      }
    }
    for (int step = 0; step < kStepsPerGroup; step += 2) {
      const uint8_t* const line = codes + step * static_cast<int>(kLineBytes);
      __builtin_prefetch(line + kPrefetchBytes);
      __builtin_prefetch(line + kPrefetchBytes + kLineBytes);
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        const int8x16_t first = SignedCodes(line + q * 16);
        const int8x16_t second = SignedCodes(line + kLineBytes + q * 16);
#pragma GCC unroll 2
        for (int t = 0; t < kTokens; ++t) {
          const int8_t* const token = lhs + static_cast<size_t>(t) * lhs_stride + step * 4;
          const int8x8_t first_activations = Activations(token);
          const int8x8_t second_activations = Activations(token + 4);
          const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(first), first_activations),
                                         vget_low_s8(second),
                                         second_activations);
          const int16x8_t high = vmlal_s8(vmull_s8(vget_high_s8(first), first_activations),
                                          vget_high_s8(second),
                                          second_activations);
          halves[t][q][0] = vpadalq_s16(halves[t][q][0], low);
          halves[t][q][1] = vpadalq_s16(halves[t][q][1], high);
        }
      }
    }
#pragma GCC unroll 2
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        isum[t][q] = vpaddq_s32(halves[t][q][0], halves[t][q][1]);
      }
    }
  }
};

}  // namespace

void MatmulW8Neon(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot, 8, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot, 8, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
