// SPDX-License-Identifier: Apache-2.0
// The body of the w8 and w4 files of neon and dotprod: a 64-byte line of a panel is four registers
// of 4 rows x 4 k. The ISAs differ in the integer dot product of a group alone, which each file
// passes in as `Dot`; scales, mins and the order of sums stand here.
//
// k runs in chunks of 512; w4 is expanded to bytes once per chunk (8 KB, in L1 while all tokens
// pass); between chunks the fp sums rest in dst.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kQuarters = 4;  // registers for the 16 rows of a panel
constexpr int kQuarterRows = kPanelRows / kQuarters;
constexpr int kChunkGroups = 16;
constexpr int kStepsPerGroup = kGroupSize / 4;
constexpr size_t kPrefetchBytes = 2048;

// A chunk of k of one panel, ready for tiles.
struct PanelChunk {
  const uint8_t* codes;  // [k/4][16 rows][4 k]
  int num_groups;
  float scales[kChunkGroups][kPanelRows];
  float mins[kChunkGroups][kPanelRows];
  alignas(64) uint8_t expanded[kChunkGroups * kGroupSize * kPanelRows];  // w4 only
};

// Some tokens' share of a chunk.
struct TokenChunk {
  const int8_t* codes;  // of the first token, at the chunk's start
  const float* scales;  // same
  const int32_t* sums;  // same
  size_t k;             // stride of codes
  size_t num_groups;    // stride of scales and sums
};

// The tile of one panel and kTokens tokens over one chunk. dst holds the sums so far.
template <typename Dot, bool kHasMins, int kTokens>
void TileChunk(const PanelChunk& panel,
               const TokenChunk& tokens,
               bool is_first_chunk,
               float* dst,
               size_t dst_stride) {
  float32x4_t acc[kTokens][kQuarters];
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      const float* const sums = dst + static_cast<size_t>(t) * dst_stride + q * kQuarterRows;
      acc[t][q] = is_first_chunk ? vdupq_n_f32(0.0F) : vld1q_f32(sums);
    }
  }
  for (int g = 0; g < panel.num_groups; ++g) {
    int32x4_t isum[kTokens][kQuarters];
    Dot::template Group<kTokens>(
        panel.codes + g * kGroupSize * kPanelRows, tokens.codes + g * kGroupSize, tokens.k, isum);
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      const size_t group = static_cast<size_t>(t) * tokens.num_groups + static_cast<size_t>(g);
      const float lhs_scale = tokens.scales[group];
      const int32x4_t bias_sum = vdupq_n_s32(Dot::kBias * tokens.sums[group]);
      const float sum_scale = static_cast<float>(tokens.sums[group]) * lhs_scale;
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) {
        const float32x4_t scale =
            vmulq_n_f32(vld1q_f32(&panel.scales[g][q * kQuarterRows]), lhs_scale);
        acc[t][q] = vfmaq_f32(acc[t][q], vcvtq_f32_s32(vsubq_s32(isum[t][q], bias_sum)), scale);
        if constexpr (kHasMins) {
          acc[t][q] =
              vfmaq_n_f32(acc[t][q], vld1q_f32(&panel.mins[g][q * kQuarterRows]), sum_scale);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      vst1q_f32(dst + static_cast<size_t>(t) * dst_stride + q * kQuarterRows, acc[t][q]);
    }
  }
}

// 4-bit codes to bytes, in the order of w8.
inline void ExpandNibbles(const uint8_t* lines, int num_lines, uint8_t* expanded) {
  for (int i = 0; i < num_lines; ++i) {
    const uint8_t* const line = lines + static_cast<size_t>(i) * kLineBytes;
    uint8_t* const low = expanded + static_cast<size_t>(i) * 2 * kLineBytes;
    __builtin_prefetch(line + kPrefetchBytes);
    for (int q = 0; q < kQuarters; ++q) {
      const uint8x16_t packed = vld1q_u8(line + q * 16);
      vst1q_u8(low + q * 16, vandq_u8(packed, vdupq_n_u8(15)));
      vst1q_u8(low + kLineBytes + q * 16, vshrq_n_u8(packed, 4));
    }
  }
}

inline void LoadHalfFloats(const std::byte* halves, float* floats) {
  const auto* const bits = reinterpret_cast<const uint16_t*>(halves);
  for (int q = 0; q < kQuarters; ++q) {
    const float16x4_t values = vreinterpret_f16_u16(vld1_u16(bits + q * kQuarterRows));
    vst1q_f32(floats + q * kQuarterRows, vcvt_f32_f16(values));
  }
}

template <int kBits, bool kHasMins>
void LoadChunk(const std::byte* panel,
               const PanelLayout& layout,
               int group_begin,
               PanelChunk& chunk) {
  const auto* const codes =
      reinterpret_cast<const uint8_t*>(panel + layout.codes_offset) +
      static_cast<size_t>(group_begin) * (kGroupSize * kPanelRows * kBits / 8);
  for (int g = 0; g < chunk.num_groups; ++g) {
    const size_t offset = static_cast<size_t>(group_begin + g) * kPanelRows * sizeof(uint16_t);
    LoadHalfFloats(panel + offset, chunk.scales[g]);
    if constexpr (kHasMins) {
      LoadHalfFloats(panel + layout.mins_offset + offset, chunk.mins[g]);
    }
  }
  if constexpr (kBits == 8) {
    chunk.codes = codes;
  } else {
    ExpandNibbles(codes, chunk.num_groups * (kStepsPerGroup / 2), chunk.expanded);
    chunk.codes = chunk.expanded;
  }
}

// Runs the tile of min(tokens_left, Dot::kTileTokens) tokens.
template <typename Dot, bool kHasMins>
void RunTile(int tokens_left,
             const PanelChunk& panel,
             const TokenChunk& tokens,
             bool is_first_chunk,
             float* dst,
             size_t dst_stride) {
  if (tokens_left >= Dot::kTileTokens) {
    TileChunk<Dot, kHasMins, Dot::kTileTokens>(panel, tokens, is_first_chunk, dst, dst_stride);
  } else if (tokens_left == 1) {
    TileChunk<Dot, kHasMins, 1>(panel, tokens, is_first_chunk, dst, dst_stride);
  } else if (tokens_left == 2) {
    TileChunk<Dot, kHasMins, 2>(panel, tokens, is_first_chunk, dst, dst_stride);
  } else {
    TileChunk<Dot, kHasMins, 3>(panel, tokens, is_first_chunk, dst, dst_stride);
  }
}

// All tokens against one panel.
template <typename Dot, int kBits, bool kHasMins>
void MatmulPanel(const MatmulArgs& args, const PanelLayout& layout, int panel_idx) {
  static_assert(Dot::kTileTokens <= 4);
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
    for (int t = 0; t < args.m; t += Dot::kTileTokens) {
      const auto token = static_cast<size_t>(t);
      const size_t group =
          token * static_cast<size_t>(num_groups) + static_cast<size_t>(group_begin);
      const TokenChunk tokens = {
          .codes = args.lhs.codes + token * k + static_cast<size_t>(group_begin) * kGroupSize,
          .scales = args.lhs.scales + group,
          .sums = args.lhs.sums + group,
          .k = k,
          .num_groups = static_cast<size_t>(num_groups)};
      float* const dst =
          args.dst + token * args.dst_stride + static_cast<size_t>(panel_idx) * kPanelRows;
      RunTile<Dot, kHasMins>(args.m - t, chunk, tokens, group_begin == 0, dst, args.dst_stride);
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
