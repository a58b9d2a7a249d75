// SPDX-License-Identifier: Apache-2.0
// Attention for ARMv8.0 (Cortex-A53, A72), which has no dot product: SMULL/UMULL to 16 bits, then
// a pairwise add to 32.
//
// QK: K codes + 128 become codes again by flipping the top bit; two products of s8 (at most
// 2 * 127 * 127 = 32258) fit 16 bits before the pairwise add. PV: p is u8, so V's top bit is
// flipped to code + 128, one u8 product at a time, and 128 * sum_t p_t is taken off at the end. A
// register of sums holds two partial sums for each of two lanes; the last step joins them.
// Run under emulation only: no speed is known.
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_neon.h"

namespace whinchat::kernels {
namespace {

constexpr int kGroupQueries = 2;

// Four codes, four times.
inline uint8x16_t BroadcastQuad(const void* codes) {
  uint32_t quad;
  std::memcpy(&quad, codes, sizeof(quad));
  return vreinterpretq_u8_u32(vdupq_n_u32(quad));
}

// 16 codes with the top bit flipped: between code and code + 128.
inline uint8x16_t LoadFlipped(const void* codes) {
  return veorq_u8(vld1q_u8(static_cast<const uint8_t*>(codes)), vdupq_n_u8(0x80));
}

// Queries [first, first + kNumQueries) of a tile against 16 tokens of one block.
template <int kNumQueries>
inline void ScoreTokens(const ScoreSpanArgs& args, int first, int token) {
  constexpr int kLineBytes = 4 * kKvBlockTokens;
  const uint8_t* line = KCodes(args.heads[token / kKvBlockTokens]) + token % kKvBlockTokens * 4;
  const int8_t* q_codes = args.q_codes + first * args.head_dim;
  int32x4_t sums[kNumQueries][8];
#pragma GCC unroll 2
  for (int q = 0; q < kNumQueries; ++q) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums[q][i] = vdupq_n_s32(0);
    }
  }
  for (int d = 0; d < args.head_dim; d += 8) {
    int8x16_t quad_low[kNumQueries];
    int8x16_t quad_high[kNumQueries];
#pragma GCC unroll 2
    for (int q = 0; q < kNumQueries; ++q) {
      quad_low[q] = vreinterpretq_s8_u8(BroadcastQuad(q_codes + q * args.head_dim + d));
      quad_high[q] = vreinterpretq_s8_u8(BroadcastQuad(q_codes + q * args.head_dim + d + 4));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int8x16_t k_low = vreinterpretq_s8_u8(LoadFlipped(line + i * 16));
      const int8x16_t k_high = vreinterpretq_s8_u8(LoadFlipped(line + kLineBytes + i * 16));
#pragma GCC unroll 2
      for (int q = 0; q < kNumQueries; ++q) {
        int16x8_t first_two = vmull_s8(vget_low_s8(k_low), vget_low_s8(quad_low[q]));
        first_two = vmlal_s8(first_two, vget_low_s8(k_high), vget_low_s8(quad_high[q]));
        sums[q][2 * i] = vpadalq_s16(sums[q][2 * i], first_two);
        int16x8_t last_two = vmull_high_s8(k_low, quad_low[q]);
        last_two = vmlal_high_s8(last_two, k_high, quad_high[q]);
        sums[q][2 * i + 1] = vpadalq_s16(sums[q][2 * i + 1], last_two);
      }
    }
    line += 2 * kLineBytes;
  }
#pragma GCC unroll 2
  for (int q = 0; q < kNumQueries; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int32x4_t dots = vpaddq_s32(sums[q][2 * i], sums[q][2 * i + 1]);
      vst1q_f32(args.scores[first + q] + token + i * 4, vcvtq_f32_s32(dots));
    }
  }
}

// Queries [first, first + kNumQueries) of a tile: 16 dimensions of one block.
template <int kNumQueries>
inline void AddDims(const AddSpanArgs& args, int first, int block_idx, int dim) {
  const int head_dim = args.head_dim;
  const int8_t* line = VCodes(args.heads[block_idx], head_dim) + dim * 4;
  uint32x4_t sums[kNumQueries][8];
#pragma GCC unroll 2
  for (int q = 0; q < kNumQueries; ++q) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums[q][i] = vdupq_n_u32(0);
    }
  }
  for (int t = 0; t < kKvBlockTokens; t += 4) {
    uint8x16_t p[kNumQueries];
#pragma GCC unroll 2
    for (int q = 0; q < kNumQueries; ++q) {
      p[q] = BroadcastQuad(args.p_codes[first + q] + block_idx * kKvBlockTokens + t);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t v = LoadFlipped(line + i * 16);
#pragma GCC unroll 2
      for (int q = 0; q < kNumQueries; ++q) {
        const uint16x8_t first_two = vmull_u8(vget_low_u8(v), vget_low_u8(p[q]));
        sums[q][2 * i] = vpadalq_u16(sums[q][2 * i], first_two);
        sums[q][2 * i + 1] = vpadalq_u16(sums[q][2 * i + 1], vmull_high_u8(v, p[q]));
      }
    }
    line += 4 * head_dim;
  }
  float* out = args.out + first * head_dim + dim;
#pragma GCC unroll 2
  for (int q = 0; q < kNumQueries; ++q) {
    const uint8_t* p_codes = args.p_codes[first + q] + block_idx * kKvBlockTokens;
    const int p_sum = vaddlvq_u8(vld1q_u8(p_codes)) + vaddlvq_u8(vld1q_u8(p_codes + 16));
    const int32x4_t bias = vdupq_n_s32(128 * p_sum);
    const float32x4_t scale = vdupq_n_f32(args.p_scales[first + q][block_idx]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t biased = vpaddq_u32(sums[q][2 * i], sums[q][2 * i + 1]);
      const float32x4_t product = vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(biased), bias));
      vst1q_f32(out + i * 4, vfmaq_f32(vld1q_f32(out + i * 4), product, scale));
    }
    out += head_dim;
  }
}

struct DotsNeon {
  static void ScoreSpan(int n, const ScoreSpanArgs& args) {
    for (int token = 0; token < args.num_blocks * kKvBlockTokens; token += 16) {
      for (int first = 0; first < n; first += kGroupQueries) {
        (n - first == 1 ? ScoreTokens<1> : ScoreTokens<2>)(args, first, token);
      }
    }
  }

  static void AddSpan(int n, const AddSpanArgs& args) {
    for (int b = 0; b < args.num_blocks; ++b) {
      for (int dim = 0; dim < args.head_dim; dim += 16) {
        for (int first = 0; first < n; first += kGroupQueries) {
          (n - first == 1 ? AddDims<1> : AddDims<2>)(args, first, b, dim);
        }
      }
    }
  }
};

}  // namespace

AttentionKernels MakeAttentionNeon() {
  return MakeAttentionOver<Vec16Neon, DotsNeon>();
}

}  // namespace whinchat::kernels
