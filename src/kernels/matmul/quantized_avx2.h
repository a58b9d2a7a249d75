// SPDX-License-Identifier: Apache-2.0
// The body of the w8 and w4 files of avx2 and avxvnni: a ymm holds 8 rows x 4 k of a panel, and a
// dot product of 4 adds to each of 8 rows, so that no sum crosses lanes. The ISAs differ in the
// dot product alone, which each file passes in as `Dot`.
//
// One panel x 3 tokens in registers (6 int sums, 6 fp sums, 2 weights, 1 broadcast of 16). k runs
// in chunks of 512; w4 is expanded to bytes once per chunk, 8 KB that stay in L1 while all tokens
// pass; between chunks the fp sums rest in dst.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kTileTokens = 3;
constexpr int kHalves = 2;  // ymm registers for the 16 rows of a panel
constexpr int kHalfRows = kPanelRows / kHalves;
constexpr int kChunkGroups = 16;
constexpr int kStepsPerGroup = kGroupSize / 4;
constexpr size_t kPrefetchBytes = 4096;

// A chunk of k of one panel, ready for tiles.
struct PanelChunk {
  const uint8_t* codes;  // [k/4][16 rows][4 k]
  int num_groups;
  alignas(32) float scales[kChunkGroups][kPanelRows];
  alignas(32) float mins[kChunkGroups][kPanelRows];
  alignas(32) uint8_t expanded[kChunkGroups * kGroupSize * kPanelRows];  // w4 only
};

// Some tokens' share of a chunk.
struct TokenChunk {
  const int8_t* codes;  // of the first token, at the chunk's start
  const float* scales;  // same
  const int32_t* sums;  // same
  size_t k;             // stride of codes
  size_t num_groups;    // stride of scales and sums
};

inline __m256i Broadcast4(const int8_t* codes) {
  int32_t word;
  __builtin_memcpy(&word, codes, sizeof(word));
  return _mm256_set1_epi32(word);
}

inline __m256 LoadHalfFloats(const std::byte* halves) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(halves)));
}

// The tile of one panel and kTokens tokens over one chunk. dst holds the sums so far.
template <typename Dot, bool kHasMins, int kTokens>
void TileChunk(const PanelChunk& panel,
               const TokenChunk& tokens,
               bool is_first_chunk,
               float* dst,
               size_t dst_stride) {
  __m256 acc[kTokens][kHalves];
#pragma GCC unroll 3
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      const float* const sums = dst + static_cast<size_t>(t) * dst_stride + h * kHalfRows;
      acc[t][h] = is_first_chunk ? _mm256_setzero_ps() : _mm256_loadu_ps(sums);
    }
  }
  for (int g = 0; g < panel.num_groups; ++g) {
    __m256i sum[kTokens][kHalves];
#pragma GCC unroll 3
    for (int t = 0; t < kTokens; ++t) {
      sum[t][0] = _mm256_setzero_si256();
      sum[t][1] = _mm256_setzero_si256();
    }
#pragma GCC unroll 8
    for (int step = 0; step < kStepsPerGroup; ++step) {
      const int k_begin = g * kGroupSize + step * 4;
      const auto* const line = reinterpret_cast<const __m256i*>(panel.codes + k_begin * kPanelRows);
      // Lines of w8 come from memory; a prefetch of what the cache holds costs a load slot.
      _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
      const typename Dot::Weights weights[kHalves] = {Dot::Prepare(_mm256_load_si256(line)),
                                                      Dot::Prepare(_mm256_load_si256(line + 1))};
#pragma GCC unroll 3
      for (int t = 0; t < kTokens; ++t) {
        const __m256i activations =
            Broadcast4(tokens.codes + static_cast<size_t>(t) * tokens.k + k_begin);
        Dot::Add(sum[t][0], weights[0], activations);
        Dot::Add(sum[t][1], weights[1], activations);
      }
    }
#pragma GCC unroll 3
    for (int t = 0; t < kTokens; ++t) {
      const size_t group = static_cast<size_t>(t) * tokens.num_groups + static_cast<size_t>(g);
      const __m256 lhs_scale = _mm256_set1_ps(tokens.scales[group]);
      const __m256i bias_sum = _mm256_set1_epi32(Dot::kBias * tokens.sums[group]);
      const __m256 sum_scale =
          _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_set1_epi32(tokens.sums[group])), lhs_scale);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256i isum = _mm256_sub_epi32(Dot::Finish(sum[t][h]), bias_sum);
        const __m256 scale =
            _mm256_mul_ps(_mm256_load_ps(&panel.scales[g][h * kHalfRows]), lhs_scale);
        acc[t][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), scale, acc[t][h]);
        if constexpr (kHasMins) {
          acc[t][h] =
              _mm256_fmadd_ps(_mm256_load_ps(&panel.mins[g][h * kHalfRows]), sum_scale, acc[t][h]);
        }
      }
    }
  }
#pragma GCC unroll 3
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      _mm256_storeu_ps(dst + static_cast<size_t>(t) * dst_stride + h * kHalfRows, acc[t][h]);
    }
  }
}

// 4-bit codes to bytes, in the order of w8.
inline void ExpandNibbles(const std::byte* lines, int num_lines, uint8_t* expanded) {
  const __m256i nibble = _mm256_set1_epi8(15);
  for (int i = 0; i < num_lines; ++i) {
    const std::byte* const line = lines + static_cast<size_t>(i) * kLineBytes;
    uint8_t* const out = expanded + static_cast<size_t>(i) * 2 * kLineBytes;
    _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
    for (int h = 0; h < kHalves; ++h) {
      const __m256i packed = _mm256_load_si256(reinterpret_cast<const __m256i*>(line) + h);
      auto* const low = reinterpret_cast<__m256i*>(out) + h;
      _mm256_store_si256(low, _mm256_and_si256(packed, nibble));
      _mm256_store_si256(low + kHalves, _mm256_and_si256(_mm256_srli_epi16(packed, 4), nibble));
    }
  }
}

template <int kBits, bool kHasMins>
void LoadChunk(const std::byte* panel,
               const PanelLayout& layout,
               int group_begin,
               PanelChunk& chunk) {
  const std::byte* const codes =
      panel + layout.codes_offset +
      static_cast<size_t>(group_begin) * (kGroupSize * kPanelRows * kBits / 8);
  for (int g = 0; g < chunk.num_groups; ++g) {
    const size_t offset = static_cast<size_t>(group_begin + g) * kPanelRows * sizeof(uint16_t);
    for (int h = 0; h < kHalves; ++h) {
      const size_t half_offset = offset + static_cast<size_t>(h) * kHalfRows * sizeof(uint16_t);
      _mm256_store_ps(&chunk.scales[g][h * kHalfRows], LoadHalfFloats(panel + half_offset));
      if constexpr (kHasMins) {
        _mm256_store_ps(&chunk.mins[g][h * kHalfRows],
                        LoadHalfFloats(panel + layout.mins_offset + half_offset));
      }
    }
  }
  if constexpr (kBits == 8) {
    chunk.codes = reinterpret_cast<const uint8_t*>(codes);
  } else {
    ExpandNibbles(codes, chunk.num_groups * (kStepsPerGroup / 2), chunk.expanded);
    chunk.codes = chunk.expanded;
  }
}

// All tokens against one panel.
template <typename Dot, int kBits, bool kHasMins>
void MatmulPanel(const MatmulArgs& args, const PanelLayout& layout, int panel_idx) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const int num_groups = args.rhs.k / kGroupSize;
  PanelChunk chunk;
  for (int group_begin = 0; group_begin < num_groups; group_begin += kChunkGroups) {
    const int groups_left = num_groups - group_begin;
    chunk.num_groups = groups_left < kChunkGroups ? groups_left : kChunkGroups;
    LoadChunk<kBits, kHasMins>(
        args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx),
        layout,
        group_begin,
        chunk);
    for (int t = 0; t < args.m; t += kTileTokens) {
      const auto token = static_cast<size_t>(t);
      const size_t group =
          token * static_cast<size_t>(num_groups) + static_cast<size_t>(group_begin);
      const TokenChunk tokens = {
          .codes = args.lhs.codes + token * k + static_cast<size_t>(group_begin) * kGroupSize,
          .scales = args.lhs.scales + group,
          .sums = args.lhs.sums + group,
          .k = k,
          .num_groups = static_cast<size_t>(num_groups)};
      const bool is_first_chunk = group_begin == 0;
      float* const dst =
          args.dst + token * args.dst_stride + static_cast<size_t>(panel_idx) * kPanelRows;
      switch (args.m - t) {
        case 1:
          TileChunk<Dot, kHasMins, 1>(chunk, tokens, is_first_chunk, dst, args.dst_stride);
          break;
        case 2:
          TileChunk<Dot, kHasMins, 2>(chunk, tokens, is_first_chunk, dst, args.dst_stride);
          break;
        default:
          TileChunk<Dot, kHasMins, 3>(chunk, tokens, is_first_chunk, dst, args.dst_stride);
          break;
      }
    }
  }
}

template <typename Dot, int kBits, bool kHasMins>
void MatmulQuantized(const MatmulArgs& args) {
  const PanelLayout layout = MakePanelLayout(args.rhs.type, args.rhs.k);
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    MatmulPanel<Dot, kBits, kHasMins>(args, layout, panel_idx);
  }
}

}  // namespace
}  // namespace whinchat::kernels
