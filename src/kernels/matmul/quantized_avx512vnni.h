// SPDX-License-Identifier: Apache-2.0
// The body of matmul_w8_avx512vnni.cc and matmul_w4_avx512vnni.cc: a zmm holds 16 rows x 4 k of a
// panel, so one vpdpbusd adds 4 products for each of 16 rows and no sum crosses lanes.
//
// Algebra: codes are unsigned as vpdpbusd wants them, activations signed. The int accumulator of a
// group starts at -bias * sum(activations), so that it ends at the signed dot product.
//
// Two paths, chosen by the number of tokens, with the same operations in the same order for each
// element, hence the same bits:
//   stream (m <= 8)  reads each line of a panel once for all tokens, straight from memory, with
//                    software prefetch; bound by memory.
//   tile   (m > 8)   2 panels x 6 tokens in registers: 12 int and 12 fp accumulators, 2 lines and
//                    1 broadcast. w4 is first expanded to bytes. k runs in chunks of 512, so that 2
//                    panels of codes (16 KB) stay in L1 while all tokens pass; between chunks the
//                    fp sums rest in dst.
//
// Golden Cove: vpdpbusd zmm p0/p5, latency 5; cvt, mul, fma zmm p0/p5; broadcast loads need no
// port but a load's (2 zmm loads a cycle). A tile's group costs 96 dot products + 12 x 3 fp
// operations = 66 cycles, of which 48 are dot products: 73 % of the peak at best.
// Measured (2026-12-01, Xeon VM with avx512_vnni): tile, a thread's CPU time against vpdpbusd's
// peak in the same second, m = 510, k = 576 to 3072: w8 0.51-0.61, w4 0.51-0.61, with mins
// 0.51-0.59 of the peak (420-580 Gop/s a thread). Stream, 2 threads, 320 MB against a plain read of
// it, m = 1: w8 0.90-0.92, w4 0.88-0.91 (30-34 GB/s), w4 with mins 0.83; m = 4: 0.69-0.76; m = 8:
// 0.56-0.72. Prefetching 1, 2, 4, 8 KB ahead: 0.80, 0.90, 0.90, 0.83 at w4, m = 1. g++ 12 copies
// and spills accumulators around _mm512_dpbusd_epi32 (half the speed), so the instruction is
// written in asm.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kStreamTokens = 8;
constexpr int kTileTokens = 6;
constexpr int kTilePanels = 2;
constexpr int kChunkGroups = 16;
constexpr int kStepsPerGroup = kGroupSize / 4;
// How far ahead the stream path prefetches: about the bytes in flight at full bandwidth.
constexpr size_t kPrefetchBytes = 4096;

// sum += dot products of u8 weights and s8 activations, 4 each.
inline void AddDotProducts(__m512i& sum, __m512i weights, __m512i activations) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(activations));
}

inline __m512i Broadcast4(const int8_t* codes) {
  int32_t word;
  __builtin_memcpy(&word, codes, sizeof(word));
  return _mm512_set1_epi32(word);
}

// The forms with a mask, since g++ 12 warns of an uninitialized operand inside those without.
constexpr __mmask16 kAllLanes = 0xFFFF;

inline __m512 ToFloat(__m512i values) {
  return _mm512_maskz_cvtepi32_ps(kAllLanes, values);
}

inline __m512 LoadHalves(const std::byte* halves) {
  return _mm512_maskz_cvtph_ps(kAllLanes,
                               _mm256_load_si256(reinterpret_cast<const __m256i*>(halves)));
}

template <int kBits, bool kHasMins>
inline constexpr int kBias = kBits == 8 ? 128 : (kHasMins ? 0 : 8);

// ---------------------------------------------------------------- stream: few tokens

// One panel for kTokens tokens. Each line is loaded once.
template <int kBits, bool kHasMins, int kTokens>
void StreamPanel(const MatmulArgs& args, const PanelLayout& layout, int panel_idx) {
  const int num_groups = args.rhs.k / kGroupSize;
  const auto k = static_cast<size_t>(args.rhs.k);
  const std::byte* const panel =
      args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx);
  const std::byte* prefetch = panel + kPrefetchBytes;
  const std::byte* line = panel + layout.codes_offset;
  const __m512i nibble = _mm512_set1_epi8(15);
  // Pairs (-bias, 0): vpdpwssd with a sum, as its low and high 16 bits, adds -bias * sum.
  const __m512i negative_bias = _mm512_set1_epi32(-kBias<kBits, kHasMins> & 0xFFFF);
  __m512 acc[kTokens];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    acc[t] = _mm512_setzero_ps();
  }
  for (int g = 0; g < num_groups; ++g) {
    const int8_t* const lhs = args.lhs.codes + g * kGroupSize;
    __m512i sum[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      sum[t] = _mm512_setzero_si512();
      if constexpr (kBias<kBits, kHasMins> != 0) {
        sum[t] = _mm512_dpwssd_epi32(
            sum[t], negative_bias, _mm512_set1_epi32(args.lhs.sums[t * num_groups + g]));
      }
    }
    if constexpr (kBits == 8) {
#pragma GCC unroll 8
      for (int step = 0; step < kStepsPerGroup; ++step) {
        _mm_prefetch(reinterpret_cast<const char*>(prefetch), _MM_HINT_T0);
        prefetch += kLineBytes;
        const __m512i weights = _mm512_load_si512(line);
        line += kLineBytes;
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
          AddDotProducts(sum[t], weights, Broadcast4(lhs + static_cast<size_t>(t) * k + step * 4));
        }
      }
    } else {
#pragma GCC unroll 4
      for (int step = 0; step < kStepsPerGroup; step += 2) {
        _mm_prefetch(reinterpret_cast<const char*>(prefetch), _MM_HINT_T0);
        prefetch += kLineBytes;
        const __m512i packed = _mm512_load_si512(line);
        line += kLineBytes;
        const __m512i low = _mm512_and_si512(packed, nibble);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
          const int8_t* const codes = lhs + static_cast<size_t>(t) * k + step * 4;
          AddDotProducts(sum[t], low, Broadcast4(codes));
          AddDotProducts(sum[t], high, Broadcast4(codes + 4));
        }
      }
    }
    // Scales (and mins) stand before the codes: half a line (a line) of them a group.
    if (kHasMins || g % 2 == 1) {
      _mm_prefetch(reinterpret_cast<const char*>(prefetch), _MM_HINT_T0);
      prefetch += kLineBytes;
    }
    const size_t group_offset = static_cast<size_t>(g) * kPanelRows * sizeof(uint16_t);
    const __m512 scale = LoadHalves(panel + group_offset);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const __m512 lhs_scale = _mm512_set1_ps(args.lhs.scales[t * num_groups + g]);
      acc[t] = _mm512_fmadd_ps(ToFloat(sum[t]), _mm512_mul_ps(scale, lhs_scale), acc[t]);
      if constexpr (kHasMins) {
        const __m512 lhs_sum = ToFloat(_mm512_set1_epi32(args.lhs.sums[t * num_groups + g]));
        acc[t] = _mm512_fmadd_ps(LoadHalves(panel + layout.mins_offset + group_offset),
                                 _mm512_mul_ps(lhs_sum, lhs_scale),
                                 acc[t]);
      }
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    _mm512_storeu_ps(args.dst + static_cast<size_t>(t) * args.dst_stride +
                         static_cast<size_t>(panel_idx) * kPanelRows,
                     acc[t]);
  }
}

template <int kBits, bool kHasMins, int kTokens>
void StreamPanels(const MatmulArgs& args, const PanelLayout& layout) {
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    StreamPanel<kBits, kHasMins, kTokens>(args, layout, panel_idx);
  }
}

template <int kBits, bool kHasMins>
void Stream(const MatmulArgs& args, const PanelLayout& layout) {
  switch (args.m) {
    case 1:
      return StreamPanels<kBits, kHasMins, 1>(args, layout);
    case 2:
      return StreamPanels<kBits, kHasMins, 2>(args, layout);
    case 3:
      return StreamPanels<kBits, kHasMins, 3>(args, layout);
    case 4:
      return StreamPanels<kBits, kHasMins, 4>(args, layout);
    case 5:
      return StreamPanels<kBits, kHasMins, 5>(args, layout);
    case 6:
      return StreamPanels<kBits, kHasMins, 6>(args, layout);
    case 7:
      return StreamPanels<kBits, kHasMins, 7>(args, layout);
    case 8:
      return StreamPanels<kBits, kHasMins, 8>(args, layout);
    default:
      return;
  }
}

// ---------------------------------------------------------------- tile: many tokens

// A chunk of k of up to two panels, ready for tiles.
struct ChunkPanels {
  const uint8_t* codes[kTilePanels];  // [k/4][16 rows][4 k]
  alignas(64) float scales[kTilePanels][kChunkGroups][kPanelRows];
  alignas(64) float mins[kTilePanels][kChunkGroups][kPanelRows];
  alignas(64) uint8_t expanded[kTilePanels][kChunkGroups * kGroupSize * kPanelRows];  // w4 only
};

// Some tokens' share of a chunk.
struct ChunkTokens {
  const int8_t* codes;  // of the first token, at the chunk's start
  const float* scales;  // same
  const int32_t* sums;  // same
  size_t k;             // stride of codes
  size_t num_groups;    // stride of scales and sums
};

// The tile of kPanels panels and kTokens tokens over one chunk. dst holds the sums so far.
template <int kBiasValue, bool kHasMins, int kPanels, int kTokens>
void TileChunk(const ChunkPanels& panels,
               const ChunkTokens& tokens,
               int chunk_groups,
               bool is_first_chunk,
               float* dst,
               size_t dst_stride) {
  // Per token and group: the start of the int sum, and the factor of the min.
  alignas(64) int32_t starts[kTokens][kChunkGroups];
  alignas(64) float sum_scales[kTokens][kChunkGroups];
  const auto present = static_cast<__mmask16>((1U << chunk_groups) - 1U);
#pragma GCC unroll 6
  for (int t = 0; t < kTokens; ++t) {
    const size_t offset = static_cast<size_t>(t) * tokens.num_groups;
    const __m512i sums = _mm512_maskz_loadu_epi32(present, tokens.sums + offset);
    if constexpr (kBiasValue != 0) {
      _mm512_store_si512(starts[t], _mm512_mullo_epi32(sums, _mm512_set1_epi32(-kBiasValue)));
    }
    if constexpr (kHasMins) {
      const __m512 scales = _mm512_maskz_loadu_ps(present, tokens.scales + offset);
      _mm512_store_ps(sum_scales[t], _mm512_mul_ps(ToFloat(sums), scales));
    }
  }
  __m512 acc[kPanels][kTokens];
#pragma GCC unroll 2
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 6
    for (int t = 0; t < kTokens; ++t) {
      acc[p][t] = is_first_chunk
                      ? _mm512_setzero_ps()
                      : _mm512_loadu_ps(dst + static_cast<size_t>(t) * dst_stride + p * kPanelRows);
    }
  }
  for (int g = 0; g < chunk_groups; ++g) {
    __m512i sum[kPanels][kTokens];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 6
      for (int t = 0; t < kTokens; ++t) {
        sum[p][t] = kBiasValue != 0 ? _mm512_set1_epi32(starts[t][g]) : _mm512_setzero_si512();
      }
    }
#pragma GCC unroll 8
    for (int step = 0; step < kStepsPerGroup; ++step) {
      const int k_begin = g * kGroupSize + step * 4;
      __m512i weights[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        weights[p] = _mm512_load_si512(panels.codes[p] + k_begin * kPanelRows);
      }
#pragma GCC unroll 6
      for (int t = 0; t < kTokens; ++t) {
        const __m512i activations =
            Broadcast4(tokens.codes + static_cast<size_t>(t) * tokens.k + k_begin);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          AddDotProducts(sum[p][t], weights[p], activations);
        }
      }
    }
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      const __m512 scale = _mm512_load_ps(panels.scales[p][g]);
#pragma GCC unroll 6
      for (int t = 0; t < kTokens; ++t) {
        const __m512 lhs_scale = _mm512_set1_ps(
            tokens.scales[static_cast<size_t>(t) * tokens.num_groups + static_cast<size_t>(g)]);
        acc[p][t] = _mm512_fmadd_ps(ToFloat(sum[p][t]), _mm512_mul_ps(scale, lhs_scale), acc[p][t]);
        if constexpr (kHasMins) {
          acc[p][t] = _mm512_fmadd_ps(
              _mm512_load_ps(panels.mins[p][g]), _mm512_set1_ps(sum_scales[t][g]), acc[p][t]);
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 6
    for (int t = 0; t < kTokens; ++t) {
      _mm512_storeu_ps(dst + static_cast<size_t>(t) * dst_stride + p * kPanelRows, acc[p][t]);
    }
  }
}

using TileChunkFn = void (*)(const ChunkPanels&, const ChunkTokens&, int, bool, float*, size_t);

template <int kBiasValue, bool kHasMins, int kPanels>
TileChunkFn TileChunkFor(int num_tokens) {
  switch (num_tokens) {
    case 1:
      return TileChunk<kBiasValue, kHasMins, kPanels, 1>;
    case 2:
      return TileChunk<kBiasValue, kHasMins, kPanels, 2>;
    case 3:
      return TileChunk<kBiasValue, kHasMins, kPanels, 3>;
    case 4:
      return TileChunk<kBiasValue, kHasMins, kPanels, 4>;
    case 5:
      return TileChunk<kBiasValue, kHasMins, kPanels, 5>;
    default:
      return TileChunk<kBiasValue, kHasMins, kPanels, 6>;
  }
}

// Reads groups [group_begin, group_begin + chunk_groups) of one panel into slot `p`.
template <int kBits, bool kHasMins>
void LoadChunk(const std::byte* panel,
               const PanelLayout& layout,
               int group_begin,
               int chunk_groups,
               int p,
               ChunkPanels& chunk) {
  const std::byte* const codes =
      panel + layout.codes_offset +
      static_cast<size_t>(group_begin) * (kGroupSize * kPanelRows * kBits / 8);
  const size_t offset = static_cast<size_t>(group_begin) * kPanelRows * sizeof(uint16_t);
  for (int g = 0; g < chunk_groups; ++g) {
    const size_t group_offset = offset + static_cast<size_t>(g) * kPanelRows * sizeof(uint16_t);
    _mm512_store_ps(chunk.scales[p][g], LoadHalves(panel + group_offset));
    if constexpr (kHasMins) {
      _mm512_store_ps(chunk.mins[p][g], LoadHalves(panel + layout.mins_offset + group_offset));
    }
  }
  if constexpr (kBits == 8) {
    chunk.codes[p] = reinterpret_cast<const uint8_t*>(codes);
  } else {
    chunk.codes[p] = chunk.expanded[p];
    const __m512i nibble = _mm512_set1_epi8(15);
    const int num_lines = chunk_groups * (kStepsPerGroup / 2);
    for (int i = 0; i < num_lines; ++i) {
      const __m512i packed = _mm512_load_si512(codes + static_cast<size_t>(i) * kLineBytes);
      uint8_t* const out = chunk.expanded[p] + static_cast<size_t>(i) * 2 * kLineBytes;
      _mm512_store_si512(out, _mm512_and_si512(packed, nibble));
      _mm512_store_si512(out + kLineBytes, _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble));
    }
  }
}

// All tokens against kPanels panels.
template <int kBits, bool kHasMins, int kPanels>
void TilePanels(const MatmulArgs& args, const PanelLayout& layout, int panel_idx) {
  constexpr int kBiasValue = kBias<kBits, kHasMins>;
  const int num_groups = args.rhs.k / kGroupSize;
  const std::byte* const panel =
      args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx);
  const TileChunkFn last_tile = TileChunkFor<kBiasValue, kHasMins, kPanels>(
      args.m % kTileTokens == 0 ? kTileTokens : args.m % kTileTokens);
  ChunkPanels chunk;
  for (int group_begin = 0; group_begin < num_groups; group_begin += kChunkGroups) {
    const int groups_left = num_groups - group_begin;
    const int chunk_groups = groups_left < kChunkGroups ? groups_left : kChunkGroups;
    for (int p = 0; p < kPanels; ++p) {
      LoadChunk<kBits, kHasMins>(panel + layout.panel_bytes * static_cast<size_t>(p),
                                 layout,
                                 group_begin,
                                 chunk_groups,
                                 p,
                                 chunk);
    }
    for (int t = 0; t < args.m; t += kTileTokens) {
      const auto k = static_cast<size_t>(args.rhs.k);
      const auto token = static_cast<size_t>(t);
      const size_t group_offset =
          token * static_cast<size_t>(num_groups) + static_cast<size_t>(group_begin);
      const ChunkTokens tokens = {
          .codes = args.lhs.codes + token * k + static_cast<size_t>(group_begin) * kGroupSize,
          .scales = args.lhs.scales + group_offset,
          .sums = args.lhs.sums + group_offset,
          .k = k,
          .num_groups = static_cast<size_t>(num_groups)};
      float* const dst =
          args.dst + token * args.dst_stride + static_cast<size_t>(panel_idx) * kPanelRows;
      if (t + kTileTokens <= args.m) {
        TileChunk<kBiasValue, kHasMins, kPanels, kTileTokens>(
            chunk, tokens, chunk_groups, group_begin == 0, dst, args.dst_stride);
      } else {
        last_tile(chunk, tokens, chunk_groups, group_begin == 0, dst, args.dst_stride);
      }
    }
  }
}

template <int kBits, bool kHasMins>
void MatmulQuantized(const MatmulArgs& args) {
  const PanelLayout layout = MakePanelLayout(args.rhs.type, args.rhs.k);
  if (args.m <= kStreamTokens) {
    Stream<kBits, kHasMins>(args, layout);
    return;
  }
  int panel_idx = args.panel_begin;
  for (; panel_idx + kTilePanels <= args.panel_end; panel_idx += kTilePanels) {
    TilePanels<kBits, kHasMins, kTilePanels>(args, layout, panel_idx);
  }
  if (panel_idx < args.panel_end) {
    TilePanels<kBits, kHasMins, 1>(args, layout, panel_idx);
  }
}

}  // namespace
}  // namespace whinchat::kernels
