// SPDX-License-Identifier: Apache-2.0
// Attention over a span, written once over a vector of 16 fp32 lanes (`V`) and the two integer
// products of an ISA (`Dots`). Each attention_<isa>.cc instantiates it. All is in an unnamed
// namespace: code compiled for one ISA must never be merged with another's by the linker.
//
// Queries are taken in tiles of kQueryTile, so that a line of K or V is loaded once for several.
// Each step runs over the whole tile before the next one starts: the steps have long dependency
// chains (maximum, exp, division), and only independent queries fill the pipeline.
//
// Dots has, for n <= kQueryTile queries and the first num_blocks blocks of the span:
//   ScoreSpan: scores[q][t] = float(sum_d q_codes[q][d] * (k_codes[t][d] - 128))
//   AddSpan:   for each block b, out[q][d] = fma(float(sum_t p_codes[q][t] * v_codes[t][d]),
//              p_scales[q][b], out[q][d])
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise_over_vec16.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

inline constexpr int kQueryTile = 8;
inline constexpr int kSpanBlocks = kAttentionSpanTokens / kKvBlockTokens;

// Scratch of one tile, on the stack (11 KB).
struct SpanScratch {
  alignas(64) float scores[kQueryTile][kAttentionSpanTokens];  // then p_t * v_scale_t
  alignas(64) uint8_t p_codes[kQueryTile][kAttentionSpanTokens];
  alignas(64) float p_scales[kQueryTile][kSpanBlocks];
};

struct ScoreSpanArgs {
  const int8_t* q_codes;          // [n, head_dim]
  const int32_t* q_sums;          // [n]
  const std::byte* const* heads;  // [num_blocks]
  int num_blocks;
  int head_dim;
  float (*scores)[kAttentionSpanTokens];  // [n]
};

struct AddSpanArgs {
  const uint8_t (*p_codes)[kAttentionSpanTokens];  // [n]
  const float (*p_scales)[kSpanBlocks];            // [n]
  const std::byte* const* heads;                   // [num_blocks]
  int num_blocks;
  int head_dim;
  float* out;  // [n, head_dim], starts at zero
};

// Where the codes of a block's head start.
inline const uint8_t* KCodes(const std::byte* head) {
  return reinterpret_cast<const uint8_t*>(head + KvLayout{}.KCodesOffset());
}
inline const int8_t* VCodes(const std::byte* head, int head_dim) {
  const KvLayout layout = {.dtype = KvDType::kInt8, .head_dim = head_dim};
  return reinterpret_cast<const int8_t*>(head + layout.VCodesOffset());
}

inline int NumBlocks(int num_tokens) {
  return (num_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

// One query's products become scores; those of the last block's invisible tokens become -inf.
// Returns the maximum.
template <class V>
float ScaleScores(const AttentionSpanArgs& args, int query_idx, float* scores) {
  const int num_visible = args.num_visible[query_idx];
  const int num_blocks = NumBlocks(num_visible);
  const V q_scale = V::Broadcast(args.q_scales[query_idx]);
  V max_low = V::Broadcast(-__builtin_inff());
  V max_high = max_low;
  for (int b = 0; b < num_blocks; ++b) {
    const auto* k_scales = reinterpret_cast<const float*>(args.heads[b]);
    float* block_scores = scores + b * kKvBlockTokens;
    V low = V::Load(block_scores) * (q_scale * V::Load(k_scales));
    V high = V::Load(block_scores + kLanes) * (q_scale * V::Load(k_scales + kLanes));
    low.Store(block_scores);
    high.Store(block_scores + kLanes);
    const int num_left = num_visible - b * kKvBlockTokens;
    if (num_left < kKvBlockTokens) {
      for (int t = num_left; t < kKvBlockTokens; ++t) {
        block_scores[t] = -__builtin_inff();
      }
      low = V::Load(block_scores);
      high = V::Load(block_scores + kLanes);
    }
    max_low = V::Max(low, max_low);
    max_high = V::Max(high, max_high);
  }
  return V::Max(max_low, max_high).MaxOfLanes();
}

// One query's scores become p, then codes of p * v_scale with a scale for each block. Returns the
// sum of p. `scores` is overwritten. All kSpanBlocks scales are written.
template <class V>
float QuantizeSoftmax(const AttentionSpanArgs& args,
                      int num_visible,
                      float max_score,
                      float* scores,
                      uint8_t* p_codes,
                      float* p_scales) {
  const int num_blocks = NumBlocks(num_visible);
  const V max = V::Broadcast(max_score);
  V sum = V::Broadcast(0.0F);
  V block_max[kSpanBlocks];
  for (int b = num_blocks; b < kSpanBlocks; ++b) {
    block_max[b] = sum;
  }
  for (int b = 0; b < num_blocks; ++b) {
    const auto* v_scales = reinterpret_cast<const float*>(args.heads[b]) + kKvBlockTokens;
    alignas(64) float visible_scales[kKvBlockTokens];
    const int num_left = num_visible - b * kKvBlockTokens;
    if (num_left < kKvBlockTokens) {
      for (int t = 0; t < kKvBlockTokens; ++t) {
        visible_scales[t] = t < num_left ? v_scales[t] : 0.0F;
      }
      v_scales = visible_scales;
    }
    float* block_scores = scores + b * kKvBlockTokens;
    const V low = ExpNonPositive(V::Load(block_scores) - max);
    const V high = ExpNonPositive(V::Load(block_scores + kLanes) - max);
    sum = sum + low + high;
    const V pv_low = low * V::Load(v_scales);
    const V pv_high = high * V::Load(v_scales + kLanes);
    pv_low.Store(block_scores);
    pv_high.Store(block_scores + kLanes);
    block_max[b] = V::Max(pv_low, pv_high);
  }
  // All divisions of the query at once; lanes past the blocks divide zero or repeat.
  const V zero = V::Broadcast(0.0F);
  const V steps = V::Broadcast(255.0F);
  const V least = V::Broadcast(kLeastMax);
  const V max_of_blocks = V::MaxOfLanesOf8(block_max);
  V::SelectLess(max_of_blocks, least, zero, max_of_blocks / steps).StoreHalf(p_scales);
  alignas(64) float inverses[kSpanBlocks];
  V::SelectLess(max_of_blocks, least, zero, steps / max_of_blocks).StoreHalf(inverses);
  for (int b = 0; b < num_blocks; ++b) {
    const V inverse = V::Broadcast(inverses[b]);
    const float* block_pv = scores + b * kKvBlockTokens;
    (V::Load(block_pv) * inverse).StoreUint8(p_codes + b * kKvBlockTokens);
    (V::Load(block_pv + kLanes) * inverse).StoreUint8(p_codes + b * kKvBlockTokens + kLanes);
  }
  return sum.SumByHalves();
}

// Queries [first, first + n) of the call.
template <class V, class Dots>
void AttendTile(const AttentionSpanArgs& args, int first, int n) {
  const int* num_visible = args.num_visible + first;
  int most_visible = 0;
  for (int q = 0; q < n; ++q) {
    most_visible = num_visible[q] > most_visible ? num_visible[q] : most_visible;
  }
  const int num_blocks = NumBlocks(most_visible);
  const size_t row_offset = static_cast<size_t>(first) * static_cast<size_t>(args.head_dim);
  SpanScratch scratch;
  Dots::ScoreSpan(n,
                  {.q_codes = args.q_codes + row_offset,
                   .q_sums = args.q_sums + first,
                   .heads = args.heads,
                   .num_blocks = num_blocks,
                   .head_dim = args.head_dim,
                   .scores = scratch.scores});
  for (int q = 0; q < n; ++q) {
    args.max[first + q] = ScaleScores<V>(args, first + q, scratch.scores[q]);
  }
  for (int q = 0; q < n; ++q) {
    args.sum[first + q] = QuantizeSoftmax<V>(args,
                                             num_visible[q],
                                             args.max[first + q],
                                             scratch.scores[q],
                                             scratch.p_codes[q],
                                             scratch.p_scales[q]);
    // A query that sees less than its tile adds zeros there: fma(0, 0, x) is x.
    const int num_own_tokens = NumBlocks(num_visible[q]) * kKvBlockTokens;
    std::memset(scratch.p_codes[q] + num_own_tokens,
                0,
                static_cast<size_t>(num_blocks * kKvBlockTokens - num_own_tokens));
  }
  float* out = args.out + row_offset;
  std::memset(out, 0, static_cast<size_t>(n) * static_cast<size_t>(args.head_dim) * sizeof(float));
  Dots::AddSpan(n,
                {.p_codes = scratch.p_codes,
                 .p_scales = scratch.p_scales,
                 .heads = args.heads,
                 .num_blocks = num_blocks,
                 .head_dim = args.head_dim,
                 .out = out});
}

template <class V, class Dots>
void AttentionSpanInt8(const AttentionSpanArgs& args) {
  for (int first = 0; first < args.num_queries; first += kQueryTile) {
    const int num_left = args.num_queries - first;
    AttendTile<V, Dots>(args, first, num_left < kQueryTile ? num_left : kQueryTile);
  }
}

template <class V>
void AttentionSpanF32(const AttentionSpanArgs& args) {
  const int head_dim = args.head_dim;
  const KvLayout layout = {.dtype = KvDType::kF32, .head_dim = head_dim};
  const V lowest = V::Broadcast(-__builtin_inff());
  for (int query_idx = 0; query_idx < args.num_queries; ++query_idx) {
    const int num_visible = args.num_visible[query_idx];
    const size_t row_offset = static_cast<size_t>(query_idx) * static_cast<size_t>(head_dim);
    const float* q = args.q_f32 + row_offset;
    const int num_padded = (num_visible + kLanes - 1) / kLanes * kLanes;
    alignas(64) float scores[kAttentionSpanTokens];
    for (int t = 0; t < num_padded; t += kLanes) {
      lowest.Store(scores + t);
    }
    for (int t = 0; t < num_visible; ++t) {
      const auto* k = reinterpret_cast<const float*>(args.heads[t / kKvBlockTokens]) +
                      t % kKvBlockTokens * head_dim;
      V dot = V::Broadcast(0.0F);
      for (int d = 0; d < head_dim; d += kLanes) {
        dot = V::Fma(V::Load(q + d), V::Load(k + d), dot);
      }
      scores[t] = dot.SumByHalves() * args.softmax_scale;
    }
    V max_lanes = lowest;
    for (int t = 0; t < num_padded; t += kLanes) {
      max_lanes = V::Max(V::Load(scores + t), max_lanes);
    }
    const float max_score = max_lanes.MaxOfLanes();
    V sum = V::Broadcast(0.0F);
    for (int t = 0; t < num_padded; t += kLanes) {
      const V p = ExpNonPositive(V::Load(scores + t) - V::Broadcast(max_score));
      sum = sum + p;
      p.Store(scores + t);
    }
    float* out = args.out + row_offset;
    std::memset(out, 0, static_cast<size_t>(head_dim) * sizeof(float));
    for (int t = 0; t < num_visible; ++t) {
      const auto* v =
          reinterpret_cast<const float*>(args.heads[t / kKvBlockTokens] + layout.VFloatsOffset()) +
          t % kKvBlockTokens * head_dim;
      const V p = V::Broadcast(scores[t]);
      for (int d = 0; d < head_dim; d += kLanes) {
        V::Fma(p, V::Load(v + d), V::Load(out + d)).Store(out + d);
      }
    }
    args.max[query_idx] = max_score;
    args.sum[query_idx] = sum.SumByHalves();
  }
}

template <class V>
void MergeSpan(const float* span_out,
               float span_max,
               float span_sum,
               int head_dim,
               float* state_out,
               float* state_max,
               float* state_sum) {
  const float max = *state_max > span_max ? *state_max : span_max;
  const V state_factor = ExpNonPositive(V::Broadcast(*state_max - max));
  const V span_factor = ExpNonPositive(V::Broadcast(span_max - max));
  for (int d = 0; d < head_dim; d += kLanes) {
    V::Fma(V::Load(span_out + d), span_factor, V::Load(state_out + d) * state_factor)
        .Store(state_out + d);
  }
  *state_sum =
      __builtin_fmaf(span_sum, span_factor.MaxOfLanes(), *state_sum * state_factor.MaxOfLanes());
  *state_max = max;
}

template <class V>
void Finish(const float* state_out, float state_sum, int head_dim, float* out) {
  const V sum = V::Broadcast(state_sum);
  for (int d = 0; d < head_dim; d += kLanes) {
    (V::Load(state_out + d) / sum).Store(out + d);
  }
}

template <class V, class Dots>
AttentionKernels MakeAttentionOver() {
  return {
      .attention_span_int8 = AttentionSpanInt8<V, Dots>,
      .attention_span_f32 = AttentionSpanF32<V>,
      .merge_span = MergeSpan<V>,
      .finish = Finish<V>,
  };
}

}  // namespace
}  // namespace whinchat::kernels
