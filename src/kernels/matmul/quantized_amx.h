// SPDX-License-Identifier: Apache-2.0
// The body of the w8 and w4 files of amx: 16 tokens x 16 rows x a group of 32 in one TDPBSSD.
//
//   A  16 tokens x 32 activations (a row of lhs each)
//   B  8 lines of 16 rows x 4 k, signed: the panel's lines with the bias taken off
//   C  16 x 16 int32, stored to a buffer that the fp step of the same group reads
//
// Every group needs its fp step (design rule 1), so the tile unit never runs in series; it does the
// integer work beside the vector ports, which do the 3 fp operations per token and row vector
// (16 x 3 / 2 ports = 24 cycles a group, against 96 with vpdpbusd). The tiles of group g + 1 are
// issued before the fp step of group g. 16 fp sums stay in registers; k runs in chunks of 512 whose
// signed lines (2 panels, 16 KB) and activations (8 KB) stay in L1.
//
// Fewer than 16 tokens, the last m % 16, and the types with mins (whose fourth fp operation leaves
// no gain) go to the AVX512 VNNI kernel: same bits.
//
// Measured (2026-12-01, a thread's CPU time, against vpdpbusd's peak in the same second; Xeon VM
// with amx_int8 avx512_vnni, m = 512, k = 1024 to 1536): w8 0.55-0.68 and w4 0.57-0.75 of that
// peak, 510-660 and 520-720 Gop/s, against 0.53-0.60 of quantized_avx512vnni.h. The tile unit, not
// the vector ports, limits here: it swings by 2-3x on this VM. Tried without gain: 4 groups of
// tiles in flight (0.49), prefetching the next tokens (0.55).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kTileTokens = 16;
constexpr int kTilePanels = 2;
constexpr int kChunkGroups = 16;
constexpr int kLinesPerGroup = kGroupSize / 4;
constexpr size_t kPrefetchBytes = 4096;

// A chunk of k of one panel, ready for tiles.
struct PanelChunk {
  alignas(64) int8_t codes[kChunkGroups * kGroupSize * kPanelRows];  // [k/4][16 rows][4 k]
  alignas(64) float scales[kChunkGroups][kPanelRows];
};

// 16 tokens' share of a chunk.
struct TokenChunk {
  const int8_t* codes;  // of the first token, at the chunk's start
  const float* scales;  // same
  size_t k;             // stride of codes
  size_t num_groups;    // stride of scales
};

struct alignas(64) IntTile {
  int32_t sums[kTileTokens][kPanelRows];
};

// The forms with a mask, since g++ 12 warns of an uninitialized operand inside those without.
constexpr __mmask16 kAllLanes = 0xFFFF;

inline __m512 ToFloat(__m512i values) {
  return _mm512_maskz_cvtepi32_ps(kAllLanes, values);
}

inline __m512 LoadHalves(const std::byte* halves) {
  return _mm512_maskz_cvtph_ps(kAllLanes,
                               _mm256_load_si256(reinterpret_cast<const __m256i*>(halves)));
}

// Tiles 0 and 1: C; 2 and 3: A; 4 and 5: B.
void ConfigureTiles() {
  struct alignas(64) {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, kGroupSize, kGroupSize, 64, 64};
    uint8_t rows[16] = {
        kTileTokens, kTileTokens, kTileTokens, kTileTokens, kLinesPerGroup, kLinesPerGroup};
  } config;
  // g++ 12 believes that ldtilecfg reads 8 bytes and drops the stores to the rest: name it all.
  asm volatile("ldtilecfg %0" ::"m"(config));
}

// The integer sums of one group. Even and odd groups use different tiles, so that they overlap.
template <int kParity>
inline void MultiplyGroup(const int8_t* lhs, size_t lhs_stride, const int8_t* codes, IntTile& out) {
  // The intrinsics paste their tile numbers into asm, so these must be literals.
  if constexpr (kParity == 0) {
    _tile_zero(0);
    _tile_loadd(2, lhs, lhs_stride);
    _tile_loadd(4, codes, kLineBytes);
    _tile_dpbssd(0, 2, 4);
    _tile_stored(0, out.sums, kPanelRows * sizeof(int32_t));
  } else {
    _tile_zero(1);
    _tile_loadd(3, lhs, lhs_stride);
    _tile_loadd(5, codes, kLineBytes);
    _tile_dpbssd(1, 3, 5);
    _tile_stored(1, out.sums, kPanelRows * sizeof(int32_t));
  }
}

// acc += the group's sums with their scales.
inline void AddGroup(const IntTile& tile,
                     const PanelChunk& panel,
                     const float* lhs_scales,
                     size_t num_groups,
                     int g,
                     __m512 (&acc)[kTileTokens]) {
  const __m512 scale = _mm512_load_ps(panel.scales[g]);
#pragma GCC unroll 16
  for (int t = 0; t < kTileTokens; ++t) {
    const __m512 lhs_scale = _mm512_set1_ps(lhs_scales[static_cast<size_t>(t) * num_groups]);
    acc[t] = _mm512_fmadd_ps(
        ToFloat(_mm512_load_si512(tile.sums[t])), _mm512_mul_ps(scale, lhs_scale), acc[t]);
  }
}

// One panel and 16 tokens over one chunk. dst holds the sums so far.
void TileChunk(const PanelChunk& panel,
               const TokenChunk& tokens,
               int chunk_groups,
               bool is_first_chunk,
               float* dst,
               size_t dst_stride) {
  __m512 acc[kTileTokens];
#pragma GCC unroll 16
  for (int t = 0; t < kTileTokens; ++t) {
    acc[t] = is_first_chunk ? _mm512_setzero_ps()
                            : _mm512_loadu_ps(dst + static_cast<size_t>(t) * dst_stride);
  }
  constexpr int kGroupBytes = kGroupSize * kPanelRows;
  IntTile tiles[2];
  MultiplyGroup<0>(tokens.codes, tokens.k, panel.codes, tiles[0]);
  int g = 0;
  for (; g + 1 < chunk_groups; g += 2) {
    MultiplyGroup<1>(tokens.codes + (g + 1) * kGroupSize,
                     tokens.k,
                     panel.codes + (g + 1) * kGroupBytes,
                     tiles[1]);
    AddGroup(tiles[0], panel, tokens.scales + g, tokens.num_groups, g, acc);
    if (g + 2 < chunk_groups) {
      MultiplyGroup<0>(tokens.codes + (g + 2) * kGroupSize,
                       tokens.k,
                       panel.codes + (g + 2) * kGroupBytes,
                       tiles[0]);
    }
    AddGroup(tiles[1], panel, tokens.scales + g + 1, tokens.num_groups, g + 1, acc);
  }
  if (g < chunk_groups) {
    AddGroup(tiles[0], panel, tokens.scales + g, tokens.num_groups, g, acc);
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTileTokens; ++t) {
    _mm512_storeu_ps(dst + static_cast<size_t>(t) * dst_stride, acc[t]);
  }
}

// Codes of `num_lines` lines of 4-bit or 8-bit codes, signed, one byte each.
template <int kBits>
void ExpandSigned(const std::byte* lines, int num_lines, int8_t* expanded) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i bias = _mm512_set1_epi8(kBits == 8 ? -128 : 8);
  for (int i = 0; i < num_lines; ++i) {
    const std::byte* const line = lines + static_cast<size_t>(i) * kLineBytes;
    _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
    const __m512i packed = _mm512_load_si512(line);
    if constexpr (kBits == 8) {
      _mm512_store_si512(expanded + static_cast<size_t>(i) * kLineBytes,
                         _mm512_xor_si512(packed, bias));
    } else {
      int8_t* const out = expanded + static_cast<size_t>(i) * 2 * kLineBytes;
      const __m512i low = _mm512_and_si512(packed, nibble);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
      _mm512_store_si512(out, _mm512_sub_epi8(low, bias));
      _mm512_store_si512(out + kLineBytes, _mm512_sub_epi8(high, bias));
    }
  }
}

template <int kBits>
void LoadChunk(const std::byte* panel,
               const PanelLayout& layout,
               int group_begin,
               int chunk_groups,
               PanelChunk& chunk) {
  for (int g = 0; g < chunk_groups; ++g) {
    const size_t offset = static_cast<size_t>(group_begin + g) * kPanelRows * sizeof(uint16_t);
    _mm512_store_ps(chunk.scales[g], LoadHalves(panel + offset));
  }
  constexpr int kLines = kLinesPerGroup * kBits / 8;
  ExpandSigned<kBits>(
      panel + layout.codes_offset + static_cast<size_t>(group_begin * kLines) * kLineBytes,
      chunk_groups * kLines,
      chunk.codes);
}

// `num_tiles` tiles of tokens against up to two panels.
template <int kBits>
void MultiplyPanels(const MatmulArgs& args,
                    const PanelLayout& layout,
                    int panel_idx,
                    int num_panels,
                    int num_tiles) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const int num_groups = args.rhs.k / kGroupSize;
  PanelChunk chunks[kTilePanels];
  for (int group_begin = 0; group_begin < num_groups; group_begin += kChunkGroups) {
    const int groups_left = num_groups - group_begin;
    const int chunk_groups = groups_left < kChunkGroups ? groups_left : kChunkGroups;
    for (int p = 0; p < num_panels; ++p) {
      const std::byte* const panel =
          args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx + p);
      LoadChunk<kBits>(panel, layout, group_begin, chunk_groups, chunks[p]);
    }
    // The tile loads below are asm that g++ does not know to read the chunks.
    asm volatile("" ::: "memory");
    for (int tile = 0; tile < num_tiles; ++tile) {
      const auto token = static_cast<size_t>(tile) * kTileTokens;
      const size_t group =
          token * static_cast<size_t>(num_groups) + static_cast<size_t>(group_begin);
      const TokenChunk tokens = {
          .codes = args.lhs.codes + token * k + static_cast<size_t>(group_begin) * kGroupSize,
          .scales = args.lhs.scales + group,
          .k = k,
          .num_groups = static_cast<size_t>(num_groups)};
      for (int p = 0; p < num_panels; ++p) {
        float* const dst =
            args.dst + token * args.dst_stride + static_cast<size_t>(panel_idx + p) * kPanelRows;
        TileChunk(chunks[p], tokens, chunk_groups, group_begin == 0, dst, args.dst_stride);
      }
    }
  }
}

// The whole tiles of 16 tokens by AMX, the rest by `rest`.
template <int kBits>
void MatmulQuantized(const MatmulArgs& args, MatmulFn rest) {
  const int num_tiles = args.m / kTileTokens;
  const int num_done = num_tiles * kTileTokens;
  if (num_tiles > 0) {
    const PanelLayout layout = MakePanelLayout(args.rhs.type, args.rhs.k);
    ConfigureTiles();
    for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; panel_idx += kTilePanels) {
      const int panels_left = args.panel_end - panel_idx;
      MultiplyPanels<kBits>(args,
                            layout,
                            panel_idx,
                            panels_left < kTilePanels ? panels_left : kTilePanels,
                            num_tiles);
    }
    _tile_release();
  }
  if (num_done < args.m) {
    const auto token = static_cast<size_t>(num_done);
    const auto k = static_cast<size_t>(args.rhs.k);
    MatmulArgs rest_args = args;
    rest_args.m = args.m - num_done;
    rest_args.lhs.codes += token * k;
    rest_args.lhs.scales += token * (k / kGroupSize);
    rest_args.lhs.sums += token * (k / kGroupSize);
    rest_args.dst += token * args.dst_stride;
    rest(rest_args);
  }
}

}  // namespace
}  // namespace whinchat::kernels
