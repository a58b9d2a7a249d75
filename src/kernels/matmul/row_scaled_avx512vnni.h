// SPDX-License-Identifier: Apache-2.0
// The body of matmul_w8_row_avx512vnni.cc and matmul_w4_row_avx512vnni.cc: weights with a scale per
// row, whose integer sums run over a whole block of activations. As in quantized_avx512vnni.h a zmm
// holds 16 rows x 4 k of a panel.
//
// Algebra: bytes are unsigned with a bias of 128, activations signed; the int sum of a block starts
// at -128 * sum(activations). The bytes of w4 are code * sub-scale + 128 - 8 * sub-scale,
// in 8..233.
//
// Two paths, chosen by the number of tokens; integer sums are exact in any order and the fp steps
// are the same, hence the same bits:
//   stream (m <= 8)  reads each line of a panel once for all tokens, straight from memory, with
//                    software prefetch. w4 stays nibbles: the sum of a group, at most 32,512 with
//                    its bias taken off, is the 16-bit operand of one vpdpwssd by the sub-scale.
//   tile   (m > 8)   2 panels x 12 tokens of int sums in registers, 2 lines and 1 broadcast: 24 dot
//                    products for 14 loads. w4 is first expanded to bytes. k runs in chunks of
//                    whole blocks, of 512 where blocks are no longer; the fp sums rest in dst.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kStreamTokens = 8;
constexpr int kTileTokens = 12;
constexpr int kTilePanels = 2;
constexpr int kChunkColumns = 512;
// Blocks up to this length fit the buffer of expanded codes (64 KB a panel, on the stack); a longer
// one, which no known model has, takes the stream path.
constexpr int kMaxTileBlock = 4096;
constexpr int kBias = 128;
constexpr int kNibbleBias = 8;
constexpr int kStepsPerGroup = kGroupSize / 4;
// How far ahead the stream path prefetches: about the bytes in flight at full bandwidth.
constexpr size_t kPrefetchBytes = 4096;

// The forms with a mask, since g++ 12 warns of an uninitialized operand inside those without.
constexpr __mmask16 kAllLanes = 0xFFFF;

// sum += dot products of u8 weights and s8 activations, 4 each. In asm since g++ 12 copies and
// spills accumulators around the intrinsic.
inline void AddDotProducts(__m512i& sum, __m512i weights, __m512i activations) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(activations));
}

// sum += low 16 bits of `values` * `factors` (0 in their high 16 bits).
inline void AddProducts16(__m512i& sum, __m512i values, __m512i factors) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(values), "v"(factors));
}

inline __m512i Broadcast4(const int8_t* codes) {
  int32_t word;
  __builtin_memcpy(&word, codes, sizeof(word));
  return _mm512_set1_epi32(word);
}

inline __m512 ToFloat(__m512i values) {
  return _mm512_maskz_cvtepi32_ps(kAllLanes, values);
}

// The 16 sub-scales of a group, one in each 32-bit lane.
inline __m512i LoadSubScales(const std::byte* sub_scales, int group) {
  const auto* const pairs =
      reinterpret_cast<const __m128i*>(sub_scales + static_cast<size_t>(group / 2) * kPanelRows);
  const __m512i wide = _mm512_maskz_cvtepu8_epi32(kAllLanes, _mm_load_si128(pairs));
  return group % 2 == 0 ? _mm512_and_si512(wide, _mm512_set1_epi32(15))
                        : _mm512_maskz_srli_epi32(kAllLanes, wide, 4);
}

// One call's operands and how its activations lie.
struct Problem {
  const MatmulArgs& args;
  PanelLayout layout;
  int num_blocks;  // of activations in a row

  explicit Problem(const MatmulArgs& matmul_args)
      : args(matmul_args),
        layout(MakePanelLayout(matmul_args.rhs.type, matmul_args.rhs.k)),
        num_blocks((matmul_args.rhs.k + matmul_args.lhs.block - 1) / matmul_args.lhs.block) {}

  const std::byte* Panel(int panel_idx) const {
    return args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx);
  }
  const int8_t* Codes(int t) const {
    return args.lhs.codes + static_cast<size_t>(t) * static_cast<size_t>(args.rhs.k);
  }
  size_t BlockIdx(int t, int b) const {
    return static_cast<size_t>(t) * static_cast<size_t>(num_blocks) + static_cast<size_t>(b);
  }
  float* Dst(int t, int panel_idx) const {
    return args.dst + static_cast<size_t>(t) * args.dst_stride +
           static_cast<size_t>(panel_idx) * kPanelRows;
  }
  int BlockEnd(int b) const {
    const int end = (b + 1) * args.lhs.block;
    return end < args.rhs.k ? end : args.rhs.k;
  }
};

// ---------------------------------------------------------------- stream: few tokens

// Independent sums per token, so that few tokens don't wait for vpdpbusd's latency.
template <int kTokens>
inline constexpr int kChains = kTokens == 1 ? 4 : (kTokens <= 4 ? 2 : 1);

// The int sums of columns [begin, end), w8.
template <int kTokens>
inline void StreamBytes(const Problem& problem,
                        int first_token,
                        const std::byte* codes,
                        int begin,
                        int end,
                        __m512i (&sum)[kTokens]) {
  __m512i chains[kTokens][kChains<kTokens>];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains<kTokens>; ++c) {
      chains[t][c] = _mm512_setzero_si512();
    }
  }
  const auto k = static_cast<size_t>(problem.args.rhs.k);
  const int8_t* lhs = problem.Codes(first_token) + begin;
  const std::byte* line = codes + static_cast<size_t>(begin) * kPanelRows;
  for (int i = begin; i < end; i += kGroupSize) {
#pragma GCC unroll 8
    for (int step = 0; step < kStepsPerGroup; ++step) {
      _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
      const __m512i weights = _mm512_load_si512(line);
      line += kLineBytes;
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        AddDotProducts(
            chains[t][step % kChains<kTokens>],
            weights,
            Broadcast4(lhs + static_cast<size_t>(t) * k + static_cast<size_t>(step) * 4));
      }
    }
    lhs += kGroupSize;
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains<kTokens>; ++c) {
      sum[t] = _mm512_add_epi32(sum[t], chains[t][c]);
    }
  }
}

// The same, w4.
template <int kTokens>
inline void StreamNibbles(const Problem& problem,
                          int first_token,
                          const std::byte* panel,
                          int begin,
                          int end,
                          __m512i (&sum)[kTokens]) {
  const auto k = static_cast<size_t>(problem.args.rhs.k);
  const size_t num_groups = k / kGroupSize;
  const int8_t* lhs = problem.Codes(first_token) + begin;
  const int32_t* lhs_sums = problem.args.lhs.sums + static_cast<size_t>(first_token) * num_groups;
  const std::byte* const sub_scales = panel + problem.layout.sub_scales_offset;
  const std::byte* line =
      panel + problem.layout.codes_offset + static_cast<size_t>(begin) * (kPanelRows / 2);
  const __m512i nibble = _mm512_set1_epi8(15);
  for (int group = begin / kGroupSize; group < end / kGroupSize; ++group) {
    __m512i group_sum[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      group_sum[t] = _mm512_set1_epi32(
          -kNibbleBias *
          lhs_sums[static_cast<size_t>(t) * num_groups + static_cast<size_t>(group)]);
    }
#pragma GCC unroll 4
    for (int step = 0; step < kStepsPerGroup; step += 2) {
      _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
      const __m512i packed = _mm512_load_si512(line);
      line += kLineBytes;
      const __m512i low = _mm512_and_si512(packed, nibble);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const int8_t* const codes =
            lhs + static_cast<size_t>(t) * k + static_cast<size_t>(step) * 4;
        AddDotProducts(group_sum[t], low, Broadcast4(codes));
        AddDotProducts(group_sum[t], high, Broadcast4(codes + 4));
      }
    }
    lhs += kGroupSize;
    const __m512i sub_scale = LoadSubScales(sub_scales, group);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      AddProducts16(sum[t], group_sum[t], sub_scale);
    }
  }
}

// One panel for kTokens tokens. Each line is loaded once.
template <int kBits, int kTokens>
void StreamPanel(const Problem& problem, int first_token, int panel_idx) {
  const std::byte* const panel = problem.Panel(panel_idx);
  __m512 acc[kTokens];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    acc[t] = _mm512_setzero_ps();
  }
  for (int b = 0; b < problem.num_blocks; ++b) {
    const int begin = b * problem.args.lhs.block;
    const int end = problem.BlockEnd(b);
    __m512i sum[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const int32_t block_sum = problem.args.lhs.block_sums[problem.BlockIdx(first_token + t, b)];
      sum[t] = _mm512_set1_epi32(kBits == 8 ? -kBias * block_sum : 0);
    }
    if constexpr (kBits == 8) {
      StreamBytes<kTokens>(
          problem, first_token, panel + problem.layout.codes_offset, begin, end, sum);
    } else {
      StreamNibbles<kTokens>(problem, first_token, panel, begin, end, sum);
    }
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const float lhs_scale = problem.args.lhs.scales[problem.BlockIdx(first_token + t, b)];
      acc[t] = _mm512_fmadd_ps(ToFloat(sum[t]), _mm512_set1_ps(lhs_scale), acc[t]);
    }
  }
  const __m512 row_scales = _mm512_load_ps(panel);
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    _mm512_storeu_ps(problem.Dst(first_token + t, panel_idx), _mm512_mul_ps(acc[t], row_scales));
  }
}

template <int kBits, int kTokens>
void StreamPanels(const Problem& problem, int first_token) {
  for (int panel_idx = problem.args.panel_begin; panel_idx < problem.args.panel_end; ++panel_idx) {
    StreamPanel<kBits, kTokens>(problem, first_token, panel_idx);
  }
}

// Tokens [first_token, first_token + num_tokens), at most kStreamTokens.
template <int kBits>
void Stream(const Problem& problem, int first_token, int num_tokens) {
  switch (num_tokens) {
    case 1:
      return StreamPanels<kBits, 1>(problem, first_token);
    case 2:
      return StreamPanels<kBits, 2>(problem, first_token);
    case 3:
      return StreamPanels<kBits, 3>(problem, first_token);
    case 4:
      return StreamPanels<kBits, 4>(problem, first_token);
    case 5:
      return StreamPanels<kBits, 5>(problem, first_token);
    case 6:
      return StreamPanels<kBits, 6>(problem, first_token);
    case 7:
      return StreamPanels<kBits, 7>(problem, first_token);
    case 8:
      return StreamPanels<kBits, 8>(problem, first_token);
    default:
      return;
  }
}

// ---------------------------------------------------------------- tile: many tokens

// The blocks [block_begin, block_end) of up to two panels, as bytes: [k/4][16 rows][4 k].
struct ChunkPanels {
  int panel_idx;
  int block_begin;
  int block_end;
  const uint8_t* codes[kTilePanels];
};

// The int sums of kPanels panels and kTokens tokens over one block.
template <int kPanels, int kTokens>
inline void TileBlock(const int8_t* lhs,
                      size_t lhs_stride,
                      const uint8_t* const (&codes)[kPanels],
                      int num_columns,
                      __m512i (&sum)[kPanels][kTokens]) {
  for (int i = 0; i < num_columns; i += 16) {
#pragma GCC unroll 4
    for (int step = 0; step < 4; ++step) {
      const int column = i + step * 4;
      __m512i weights[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        weights[p] = _mm512_load_si512(codes[p] + column * kPanelRows);
      }
#pragma GCC unroll 12
      for (int t = 0; t < kTokens; ++t) {
        const __m512i activations = Broadcast4(lhs + static_cast<size_t>(t) * lhs_stride + column);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          AddDotProducts(sum[p][t], weights[p], activations);
        }
      }
    }
  }
}

// The tile of kPanels panels and kTokens tokens over one chunk. dst holds the sums so far.
template <int kPanels, int kTokens>
void TileChunk(const Problem& problem, const ChunkPanels& chunk, int first_token) {
  const QuantizedRows& lhs = problem.args.lhs;
  const int chunk_begin = chunk.block_begin * lhs.block;
  for (int b = chunk.block_begin; b < chunk.block_end; ++b) {
    const int begin = b * lhs.block;
    __m512i sum[kPanels][kTokens];
#pragma GCC unroll 12
    for (int t = 0; t < kTokens; ++t) {
      const int32_t start = -kBias * lhs.block_sums[problem.BlockIdx(first_token + t, b)];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        sum[p][t] = _mm512_set1_epi32(start);
      }
    }
    const uint8_t* codes[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      codes[p] = chunk.codes[p] + static_cast<size_t>(begin - chunk_begin) * kPanelRows;
    }
    TileBlock<kPanels, kTokens>(problem.Codes(first_token) + begin,
                                static_cast<size_t>(problem.args.rhs.k),
                                codes,
                                problem.BlockEnd(b) - begin,
                                sum);
#pragma GCC unroll 12
    for (int t = 0; t < kTokens; ++t) {
      const __m512 lhs_scale = _mm512_set1_ps(lhs.scales[problem.BlockIdx(first_token + t, b)]);
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        float* const dst = problem.Dst(first_token + t, chunk.panel_idx + p);
        const __m512 before = b == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(dst);
        const __m512 acc = _mm512_fmadd_ps(ToFloat(sum[p][t]), lhs_scale, before);
        const bool is_last = b + 1 == problem.num_blocks;
        _mm512_storeu_ps(
            dst,
            is_last ? _mm512_mul_ps(acc, _mm512_load_ps(problem.Panel(chunk.panel_idx + p))) : acc);
      }
    }
  }
}

using TileChunkFn = void (*)(const Problem&, const ChunkPanels&, int);

template <int kPanels>
TileChunkFn TileChunkFor(int num_tokens) {
  static constexpr TileChunkFn kTiles[kTileTokens] = {
      TileChunk<kPanels, 1>,
      TileChunk<kPanels, 2>,
      TileChunk<kPanels, 3>,
      TileChunk<kPanels, 4>,
      TileChunk<kPanels, 5>,
      TileChunk<kPanels, 6>,
      TileChunk<kPanels, 7>,
      TileChunk<kPanels, 8>,
      TileChunk<kPanels, 9>,
      TileChunk<kPanels, 10>,
      TileChunk<kPanels, 11>,
      TileChunk<kPanels, 12>,
  };
  return kTiles[num_tokens - 1];
}

// Codes of columns [begin, end) of a w4 panel to biased bytes.
inline void ExpandNibbles(
    const std::byte* panel, const PanelLayout& layout, int begin, int end, uint8_t* expanded) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const std::byte* line =
      panel + layout.codes_offset + static_cast<size_t>(begin) * (kPanelRows / 2);
  for (int group = begin / kGroupSize; group < end / kGroupSize; ++group) {
    const __m512i in_words = LoadSubScales(panel + layout.sub_scales_offset, group);
    // One 16-bit product multiplies two codes, since code * sub-scale <= 225 stays in its byte.
    const __m512i factor =
        _mm512_or_si512(in_words, _mm512_maskz_slli_epi32(kAllLanes, in_words, 16));
    const __m512i in_bytes = _mm512_or_si512(factor, _mm512_slli_epi16(factor, 8));
    const __m512i offset =
        _mm512_sub_epi8(_mm512_set1_epi8(-kBias), _mm512_slli_epi16(in_bytes, 3));
#pragma GCC unroll 4
    for (int i = 0; i < kStepsPerGroup / 2; ++i) {
      const __m512i packed = _mm512_load_si512(line);
      const __m512i low = _mm512_and_si512(packed, nibble);
      const __m512i high = _mm512_and_si512(_mm512_srli_epi16(packed, 4), nibble);
      _mm512_store_si512(expanded, _mm512_add_epi8(_mm512_mullo_epi16(low, factor), offset));
      _mm512_store_si512(expanded + kLineBytes,
                         _mm512_add_epi8(_mm512_mullo_epi16(high, factor), offset));
      line += kLineBytes;
      expanded += 2 * kLineBytes;
    }
  }
}

// All tokens against kPanels panels.
template <int kBits, int kPanels>
void TilePanels(const Problem& problem, int panel_idx) {
  const MatmulArgs& args = problem.args;
  const int blocks_in_chunk = args.lhs.block < kChunkColumns ? kChunkColumns / args.lhs.block : 1;
  const int num_tail_tokens = args.m % kTileTokens;
  alignas(64)
      uint8_t expanded[kBits == 4 ? kPanels : 1][kBits == 4 ? kMaxTileBlock * kPanelRows : 1];
  ChunkPanels chunk;
  chunk.panel_idx = panel_idx;
  for (int b = 0; b < problem.num_blocks; b += blocks_in_chunk) {
    chunk.block_begin = b;
    chunk.block_end =
        b + blocks_in_chunk < problem.num_blocks ? b + blocks_in_chunk : problem.num_blocks;
    const int begin = b * args.lhs.block;
    const int end = problem.BlockEnd(chunk.block_end - 1);
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* const panel = problem.Panel(panel_idx + p);
      if constexpr (kBits == 8) {
        chunk.codes[p] = reinterpret_cast<const uint8_t*>(panel + problem.layout.codes_offset) +
                         static_cast<size_t>(begin) * kPanelRows;
      } else {
        ExpandNibbles(panel, problem.layout, begin, end, expanded[p]);
        chunk.codes[p] = expanded[p];
      }
    }
    for (int t = 0; t + kTileTokens <= args.m; t += kTileTokens) {
      TileChunk<kPanels, kTileTokens>(problem, chunk, t);
    }
    if (num_tail_tokens > 0) {
      TileChunkFor<kPanels>(num_tail_tokens)(problem, chunk, args.m - num_tail_tokens);
    }
  }
}

template <int kBits>
void MatmulRowScaled(const MatmulArgs& args) {
  const Problem problem(args);
  const bool is_too_wide = args.lhs.block > kMaxTileBlock && args.rhs.k > kMaxTileBlock;
  if (args.m <= kStreamTokens || is_too_wide) {
    for (int t = 0; t < args.m; t += kStreamTokens) {
      Stream<kBits>(problem, t, args.m - t < kStreamTokens ? args.m - t : kStreamTokens);
    }
    return;
  }
  int panel_idx = args.panel_begin;
  for (; panel_idx + kTilePanels <= args.panel_end; panel_idx += kTilePanels) {
    TilePanels<kBits, kTilePanels>(problem, panel_idx);
  }
  if (panel_idx < args.panel_end) {
    TilePanels<kBits, 1>(problem, panel_idx);
  }
}

}  // namespace
}  // namespace whinchat::kernels
