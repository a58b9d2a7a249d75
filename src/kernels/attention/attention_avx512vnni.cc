// SPDX-License-Identifier: Apache-2.0
// Attention with vpdpbusd: u8 x s8 products of four, added to 16 int32 lanes.
//
// QK: a lane is a token. K codes are stored as code + 128 (the u8 side), so the sum starts at
// -128 * sum_d q_d. PV: a lane is a dimension, p is the u8 side as it is.
// Register tiles: QK n queries x 2 lines (32 tokens); PV n queries x 2 or 4 lines (16 dimensions
// each): 16 sums for 8 queries, over the 10 that two ports with a latency of 5 need.
// The next block's line is prefetched with each line: blocks are far apart, and V is read in
// columns (5 % in the L2, 15 % from memory).
//
// vpdpbusd zmm: latency 5, ports 0 and 5. Measured 2026-12-01, Xeon 2.6 GHz (avx512_vnni), one
// thread, of a peak of 632 GOP/s: a tile of 64 queries 411 GOP/s at head_dim 128, 319 at 64 (the
// rest is softmax, 29 % of the time at 128); 2 queries over 64 MB of spans 26 GB/s.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_avx512vnni.h"

namespace whinchat::kernels {
namespace {

// sum += four products of unsigned and signed bytes in each lane. As asm because g++ 12 copies and
// spills the sums around _mm512_dpbusd_epi32 in unrolled tiles.
inline void AddProducts(__m512i& sum, __m512i unsigned_codes, __m512i signed_codes) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_codes), "v"(signed_codes));
}

inline __m512i BroadcastQuad(const void* codes) {
  int32_t quad;
  std::memcpy(&quad, codes, sizeof(quad));
  return _mm512_set1_epi32(quad);
}

inline void PrefetchLine(const void* codes, int offset) {
  _mm_prefetch(static_cast<const char*>(codes) + offset, _MM_HINT_T0);
}

template <int kNumQueries>
void ScoreSpanOf(const ScoreSpanArgs& args) {
  constexpr int kNumLines = kKvBlockTokens / 16;
  for (int b = 0; b < args.num_blocks; ++b) {
    const uint8_t* k_codes = KCodes(args.heads[b]);
    // After the last keys come the first values.
    const void* next_codes = b + 1 < args.num_blocks
                                 ? static_cast<const void*>(KCodes(args.heads[b + 1]))
                                 : VCodes(args.heads[0], args.head_dim);
    __m512i sums[kNumQueries][kNumLines];
#pragma GCC unroll 8
    for (int q = 0; q < kNumQueries; ++q) {
      sums[q][0] = sums[q][1] = _mm512_set1_epi32(-128 * args.q_sums[q]);
    }
    for (int d = 0; d < args.head_dim; d += 4) {
      const __m512i k_low = _mm512_loadu_si512(k_codes + d * kKvBlockTokens);
      const __m512i k_high = _mm512_loadu_si512(k_codes + d * kKvBlockTokens + 64);
      PrefetchLine(next_codes, d * kKvBlockTokens);
      PrefetchLine(next_codes, d * kKvBlockTokens + 64);
#pragma GCC unroll 8
      for (int q = 0; q < kNumQueries; ++q) {
        const __m512i quad = BroadcastQuad(args.q_codes + q * args.head_dim + d);
        AddProducts(sums[q][0], k_low, quad);
        AddProducts(sums[q][1], k_high, quad);
      }
    }
#pragma GCC unroll 8
    for (int q = 0; q < kNumQueries; ++q) {
      float* scores = args.scores[q] + b * kKvBlockTokens;
      _mm512_storeu_ps(scores, _mm512_cvtepi32_ps(sums[q][0]));
      _mm512_storeu_ps(scores + 16, _mm512_cvtepi32_ps(sums[q][1]));
    }
  }
}

// One block's part of kNumLines * 16 dimensions. Every loop over the sums is unrolled by pragma, or
// g++ keeps them on the stack (a third of the speed).
template <int kNumQueries, int kNumLines>
inline void AddLines(const AddSpanArgs& args, int block_idx, int first_dim) {
  const int head_dim = args.head_dim;
  const int8_t* v_codes = VCodes(args.heads[block_idx], head_dim) + first_dim * 4;
  const int next_block_idx = block_idx + 1 < args.num_blocks ? block_idx + 1 : block_idx;
  const int8_t* next_codes = VCodes(args.heads[next_block_idx], head_dim) + first_dim * 4;
  const uint8_t* p_codes = args.p_codes[0] + block_idx * kKvBlockTokens;
  __m512i sums[kNumQueries][kNumLines];
#pragma GCC unroll 8
  for (int q = 0; q < kNumQueries; ++q) {
#pragma GCC unroll 4
    for (int i = 0; i < kNumLines; ++i) {
      sums[q][i] = _mm512_setzero_si512();
    }
  }
  for (int t = 0; t < kKvBlockTokens; t += 4) {
    __m512i v[kNumLines];
#pragma GCC unroll 4
    for (int i = 0; i < kNumLines; ++i) {
      v[i] = _mm512_loadu_si512(v_codes + t * head_dim + i * 64);
      PrefetchLine(next_codes, t * head_dim + i * 64);
    }
#pragma GCC unroll 8
    for (int q = 0; q < kNumQueries; ++q) {
      const __m512i quad = BroadcastQuad(p_codes + q * kAttentionSpanTokens + t);
#pragma GCC unroll 4
      for (int i = 0; i < kNumLines; ++i) {
        AddProducts(sums[q][i], quad, v[i]);
      }
    }
  }
  float* out = args.out + first_dim;
#pragma GCC unroll 8
  for (int q = 0; q < kNumQueries; ++q) {
    const __m512 scale = _mm512_set1_ps(args.p_scales[q][block_idx]);
#pragma GCC unroll 4
    for (int i = 0; i < kNumLines; ++i) {
      const __m512 product = _mm512_cvtepi32_ps(sums[q][i]);
      const __m512 before = _mm512_loadu_ps(out + i * 16);
      _mm512_storeu_ps(out + i * 16, _mm512_fmadd_ps(product, scale, before));
    }
    out += head_dim;
  }
}

template <int kNumQueries>
void AddSpanOf(const AddSpanArgs& args) {
  constexpr int kNumLines = kNumQueries <= 4 ? 4 : 2;
  for (int b = 0; b < args.num_blocks; ++b) {
    int d = 0;
    for (; d + kNumLines * 16 <= args.head_dim; d += kNumLines * 16) {
      AddLines<kNumQueries, kNumLines>(args, b, d);
    }
    for (; d < args.head_dim; d += 16) {
      AddLines<kNumQueries, 1>(args, b, d);
    }
  }
}

struct DotsAvx512Vnni {
  static void ScoreSpan(int n, const ScoreSpanArgs& args) {
    static constexpr void (*kScoreSpan[])(const ScoreSpanArgs&) = {ScoreSpanOf<1>,
                                                                   ScoreSpanOf<2>,
                                                                   ScoreSpanOf<3>,
                                                                   ScoreSpanOf<4>,
                                                                   ScoreSpanOf<5>,
                                                                   ScoreSpanOf<6>,
                                                                   ScoreSpanOf<7>,
                                                                   ScoreSpanOf<8>};
    kScoreSpan[n - 1](args);
  }
  static void AddSpan(int n, const AddSpanArgs& args) {
    static constexpr void (*kAddSpan[])(const AddSpanArgs&) = {AddSpanOf<1>,
                                                               AddSpanOf<2>,
                                                               AddSpanOf<3>,
                                                               AddSpanOf<4>,
                                                               AddSpanOf<5>,
                                                               AddSpanOf<6>,
                                                               AddSpanOf<7>,
                                                               AddSpanOf<8>};
    kAddSpan[n - 1](args);
  }
};

}  // namespace

AttentionKernels MakeAttentionAvx512Vnni() {
  return MakeAttentionOver<Vec16Avx512Vnni, DotsAvx512Vnni>();
}

}  // namespace whinchat::kernels
