// SPDX-License-Identifier: Apache-2.0
// Attention with vpdpbusd on 256-bit registers, for processors without AVX-512.
//
// QK: a lane is a token. K codes are stored as code + 128 (the u8 side), so the sum starts at
// -128 * sum_d q_d. PV: a lane is a dimension, p is the u8 side as it is.
// Register tiles of 4 queries x 16 lanes: 8 sums; the next tile's first products fill the gaps that
// a latency of 5 leaves.
//
// Measured 2026-12-01, Xeon 2.6 GHz (avx_vnni), one thread, of a peak of 328 GOP/s: a tile of 64
// queries 230 GOP/s at head_dim 128; 2 queries 180 in the caches, 16 GB/s over 64 MB of spans.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_avx2.h"

namespace whinchat::kernels {
namespace {

constexpr int kGroupQueries = 4;

// As asm for the reason attention_avx512vnni.cc gives; {vex} because this ISA has no EVEX form.
inline void AddProducts(__m256i& sum, __m256i unsigned_codes, __m256i signed_codes) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(unsigned_codes), "x"(signed_codes));
}

inline __m256i Load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

inline __m256i BroadcastQuad(const void* codes) {
  int32_t quad;
  std::memcpy(&quad, codes, sizeof(quad));
  return _mm256_set1_epi32(quad);
}

// Blocks are far apart in memory, so the same line of the next block is prefetched with each line.
inline void PrefetchLine(const void* codes, int offset) {
  _mm_prefetch(static_cast<const char*>(codes) + offset, _MM_HINT_T0);
}

// Queries [first, first + kNumQueries) of a tile against 16 tokens of one block.
template <int kNumQueries>
inline void ScoreTokens(const ScoreSpanArgs& args, int first, int token) {
  const int block_idx = token / kKvBlockTokens;
  const int next_block_idx = block_idx + 1 < args.num_blocks ? block_idx + 1 : block_idx;
  const int first_byte = token % kKvBlockTokens * 4;
  const uint8_t* k_codes = KCodes(args.heads[block_idx]) + first_byte;
  const uint8_t* next_codes = KCodes(args.heads[next_block_idx]) + first_byte;
  const int8_t* q_codes = args.q_codes + first * args.head_dim;
  __m256i sums[kNumQueries][2];
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    sums[i][0] = sums[i][1] = _mm256_set1_epi32(-128 * args.q_sums[first + i]);
  }
  for (int d = 0; d < args.head_dim; d += 4) {
    const __m256i low = Load(k_codes + d * kKvBlockTokens);
    const __m256i high = Load(k_codes + d * kKvBlockTokens + 32);
    PrefetchLine(next_codes, d * kKvBlockTokens);
#pragma GCC unroll 4
    for (int i = 0; i < kNumQueries; ++i) {
      const __m256i quad = BroadcastQuad(q_codes + i * args.head_dim + d);
      AddProducts(sums[i][0], low, quad);
      AddProducts(sums[i][1], high, quad);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    float* scores = args.scores[first + i] + token;
    _mm256_storeu_ps(scores, _mm256_cvtepi32_ps(sums[i][0]));
    _mm256_storeu_ps(scores + 8, _mm256_cvtepi32_ps(sums[i][1]));
  }
}

// Queries [first, first + kNumQueries) of a tile: 16 dimensions of one block.
template <int kNumQueries>
inline void AddDims(const AddSpanArgs& args, int first, int block_idx, int dim) {
  const int head_dim = args.head_dim;
  const int next_block_idx = block_idx + 1 < args.num_blocks ? block_idx + 1 : block_idx;
  const int8_t* v_codes = VCodes(args.heads[block_idx], head_dim) + dim * 4;
  const int8_t* next_codes = VCodes(args.heads[next_block_idx], head_dim) + dim * 4;
  const uint8_t* p_codes = args.p_codes[first] + block_idx * kKvBlockTokens;
  __m256i sums[kNumQueries][2];
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    sums[i][0] = sums[i][1] = _mm256_setzero_si256();
  }
  for (int t = 0; t < kKvBlockTokens; t += 4) {
    const __m256i low = Load(v_codes + t * head_dim);
    const __m256i high = Load(v_codes + t * head_dim + 32);
    PrefetchLine(next_codes, t * head_dim);
#pragma GCC unroll 4
    for (int i = 0; i < kNumQueries; ++i) {
      const __m256i quad = BroadcastQuad(p_codes + i * kAttentionSpanTokens + t);
      AddProducts(sums[i][0], quad, low);
      AddProducts(sums[i][1], quad, high);
    }
  }
  float* out = args.out + first * head_dim + dim;
#pragma GCC unroll 4
  for (int i = 0; i < kNumQueries; ++i) {
    const __m256 scale = _mm256_set1_ps(args.p_scales[first + i][block_idx]);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m256 before = _mm256_loadu_ps(out + half * 8);
      const __m256 product = _mm256_cvtepi32_ps(sums[i][half]);
      _mm256_storeu_ps(out + half * 8, _mm256_fmadd_ps(product, scale, before));
    }
    out += head_dim;
  }
}

struct DotsAvxVnni {
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

AttentionKernels MakeAttentionAvxVnni() {
  return MakeAttentionOver<Vec16Avx2, DotsAvxVnni>();
}

}  // namespace whinchat::kernels
