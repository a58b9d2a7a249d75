// SPDX-License-Identifier: Apache-2.0
// Attention with SDOT and UDOT: products of four bytes, added to 4 int32 lanes.
//
// QK: a lane is a token; K codes + 128 become codes again by flipping the top bit, then s8 x s8.
// PV: a lane is a dimension; p is u8 and SDOT can't mix signs, so V's top bit is flipped to
// code + 128 and the sum starts at -128 * sum_t p_t (in wrapping arithmetic), then u8 x u8.
// Register tiles of 4 queries x 16 lanes: 16 sums, 4 registers of K or V, 4 of queries.
// Run under emulation only: no speed is known.
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_neon.h"

namespace whinchat::kernels {
namespace {

constexpr int kGroupQueries = 4;

// One quad (kQuad of the 16 codes in `q`) against 16 tokens.
template <int kQuad>
inline void AddKeyQuad(int32x4_t (&sums)[4], const int8x16_t (&k)[4], int8x16_t q) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sums[i] = vdotq_laneq_s32(sums[i], k[i], q, kQuad);
  }
}

template <int kQuad>
inline void AddValueQuad(uint32x4_t (&sums)[4], const uint8x16_t (&v)[4], uint8x16_t p) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sums[i] = vdotq_laneq_u32(sums[i], v[i], p, kQuad);
  }
}

template <int kNumQueries, int kQuad>
inline void AddKeyLine(int32x4_t (&sums)[kNumQueries][4],
                       const uint8_t* line,
                       const int8x16_t (&q)[kNumQueries]) {
  int8x16_t k[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    k[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(line + i * 16), vdupq_n_u8(0x80)));
  }
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    AddKeyQuad<kQuad>(sums[i], k, q[i]);
  }
}

template <int kNumQueries, int kQuad>
inline void AddValueLine(uint32x4_t (&sums)[kNumQueries][4],
                         const int8_t* line,
                         const uint8x16_t (&p)[kNumQueries]) {
  uint8x16_t v[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(line + i * 16)), vdupq_n_u8(0x80));
  }
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    AddValueQuad<kQuad>(sums[i], v, p[i]);
  }
}

// Queries [first, first + kNumQueries) of a tile against 16 tokens of one block.
template <int kNumQueries>
inline void ScoreTokens(const ScoreSpanArgs& args, int first, int token) {
  constexpr int kLineBytes = 4 * kKvBlockTokens;
  const uint8_t* line = KCodes(args.heads[token / kKvBlockTokens]) + token % kKvBlockTokens * 4;
  const int8_t* q_codes = args.q_codes + first * args.head_dim;
  int32x4_t sums[kNumQueries][4];
#pragma GCC unroll 4
  for (int q = 0; q < kNumQueries; ++q) {
    sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = vdupq_n_s32(0);
  }
  for (int d = 0; d < args.head_dim; d += 16) {
    int8x16_t q[kNumQueries];
#pragma GCC unroll 4
    for (int i = 0; i < kNumQueries; ++i) {
      q[i] = vld1q_s8(q_codes + i * args.head_dim + d);
    }
    AddKeyLine<kNumQueries, 0>(sums, line, q);
    AddKeyLine<kNumQueries, 1>(sums, line + kLineBytes, q);
    AddKeyLine<kNumQueries, 2>(sums, line + 2 * kLineBytes, q);
    AddKeyLine<kNumQueries, 3>(sums, line + 3 * kLineBytes, q);
    line += 4 * kLineBytes;
  }
#pragma GCC unroll 4
  for (int q = 0; q < kNumQueries; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      vst1q_f32(args.scores[first + q] + token + i * 4, vcvtq_f32_s32(sums[q][i]));
    }
  }
}

// Queries [first, first + kNumQueries) of a tile: 16 dimensions of one block.
template <int kNumQueries>
inline void AddDims(const AddSpanArgs& args, int first, int block_idx, int dim) {
  const int head_dim = args.head_dim;
  const int line_bytes = 4 * head_dim;
  const int8_t* line = VCodes(args.heads[block_idx], head_dim) + dim * 4;
  uint32x4_t sums[kNumQueries][4];
#pragma GCC unroll 4
  for (int q = 0; q < kNumQueries; ++q) {
    const uint8_t* p_codes = args.p_codes[first + q] + block_idx * kKvBlockTokens;
    const uint32_t p_sum =
        uint32_t{vaddlvq_u8(vld1q_u8(p_codes))} + vaddlvq_u8(vld1q_u8(p_codes + 16));
    sums[q][0] = sums[q][1] = sums[q][2] = sums[q][3] = vdupq_n_u32(0U - 128U * p_sum);
  }
  for (int t = 0; t < kKvBlockTokens; t += 16) {
    uint8x16_t p[kNumQueries];
#pragma GCC unroll 4
    for (int i = 0; i < kNumQueries; ++i) {
      p[i] = vld1q_u8(args.p_codes[first + i] + block_idx * kKvBlockTokens + t);
    }
    AddValueLine<kNumQueries, 0>(sums, line, p);
    AddValueLine<kNumQueries, 1>(sums, line + line_bytes, p);
    AddValueLine<kNumQueries, 2>(sums, line + 2 * line_bytes, p);
    AddValueLine<kNumQueries, 3>(sums, line + 3 * line_bytes, p);
    line += 4 * line_bytes;
  }
  float* out = args.out + first * head_dim + dim;
#pragma GCC unroll 4
  for (int q = 0; q < kNumQueries; ++q) {
    const float32x4_t scale = vdupq_n_f32(args.p_scales[first + q][block_idx]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const float32x4_t product = vcvtq_f32_s32(vreinterpretq_s32_u32(sums[q][i]));
      vst1q_f32(out + i * 4, vfmaq_f32(vld1q_f32(out + i * 4), product, scale));
    }
    out += head_dim;
  }
}

struct DotsDotprod {
  static void ScoreSpan(int n, const ScoreSpanArgs& args) {
    static constexpr void (*kScoreTokens[])(const ScoreSpanArgs&, int, int) = {
        ScoreTokens<1>, ScoreTokens<2>, ScoreTokens<3>, ScoreTokens<4>};
    for (int token = 0; token < args.num_blocks * kKvBlockTokens; token += 16) {
      for (int first = 0; first < n; first += kGroupQueries) {
        const int num_left = n - first < kGroupQueries ? n - first : kGroupQueries;
        kScoreTokens[num_left - 1](args, first, token);
      }
    }
  }

  static void AddSpan(int n, const AddSpanArgs& args) {
    static constexpr void (*kAddDims[])(const AddSpanArgs&, int, int, int) = {
        AddDims<1>, AddDims<2>, AddDims<3>, AddDims<4>};
    for (int b = 0; b < args.num_blocks; ++b) {
      for (int dim = 0; dim < args.head_dim; dim += 16) {
        for (int first = 0; first < n; first += kGroupQueries) {
          const int num_left = n - first < kGroupQueries ? n - first : kGroupQueries;
          kAddDims[num_left - 1](args, first, b, dim);
        }
      }
    }
  }
};

}  // namespace

AttentionKernels MakeAttentionDotprod() {
  return MakeAttentionOver<Vec16Neon, DotsDotprod>();
}

}  // namespace whinchat::kernels
