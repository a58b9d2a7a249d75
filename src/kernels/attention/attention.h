// SPDX-License-Identifier: Apache-2.0
// Attention of some queries over one span of 256 tokens of one KV head, and the merge of spans.
// Defined, not scheduled (docs: design rule 1). For each query, over the visible tokens of a span:
//   s_t = float(sum_d q_d * k_t,d) * (q_scale * k_scale_t)   int32 sum; q_scale has 1/sqrt(d)
//   max = maximum of s_t, exact in any order
//   p_t = exp(s_t - max)
//   sum = p_t added in 16 lanes (lane = t mod 16, t in order), then by halves
//   for each block of 32 tokens with a visible one (p_t = 0 for its invisible tokens):
//     pv_t  = p_t * v_scale_t
//     b     = max(pv_t) / 255
//     u_t   = round(pv_t * (255 / max(pv_t)))                 u8
//     out_d = fma(float(sum_t u_t * v_t,d), b, out_d)         int32 sum; out_d starts at 0
//     A block whose max(pv_t) is below 2^-100 adds nothing (zero vectors; no 0/0).
// Slots past the last visible token may hold anything, NaN scales too: they are never used.
// The fp32 path: s_t = (sum of q_d * k_t,d by fma in 16 lanes, lane = d mod 16, then by halves) *
// softmax_scale; max, p_t and sum as above; out_d = fma(p_t, v_t,d, out_d), t in order.
// Spans are merged left to right (MergeSpan):
//   m = max(state.max, span.max); a = exp(state.max - m); c = exp(span.max - m)
//   state.out = fma(span.out, c, state.out * a); state.sum = fma(span.sum, c, state.sum * a)
// A state starts as max = -inf, sum = 0, out = 0. The answer is state.out / state.sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_features.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {

struct AttentionSpanArgs {
  // Queries that share this KV head: all query heads of its group for all tokens of a tile.
  const int8_t* q_codes = nullptr;   // [num_queries, head_dim]        int8 path
  const float* q_scales = nullptr;   // [num_queries]                  int8 path
  const int32_t* q_sums = nullptr;   // [num_queries] sum of codes     int8 path
  const float* q_f32 = nullptr;      // [num_queries, head_dim], not scaled    f32 path
  float softmax_scale = 1.0F;        // f32 path
  const int* num_visible = nullptr;  // [num_queries] visible tokens of this span, 1..256
  int num_queries = 0;
  int head_dim = 0;                         // a multiple of 16, at most 256
  const std::byte* const* heads = nullptr;  // [8] this KV head in each block of the span; entries
                                            // past the last visible token are not read
  // The span's own result, written.
  float* out = nullptr;  // [num_queries, head_dim]
  float* max = nullptr;  // [num_queries]
  float* sum = nullptr;  // [num_queries]
};

struct AttentionKernels {
  void (*attention_span_int8)(const AttentionSpanArgs& args);
  void (*attention_span_f32)(const AttentionSpanArgs& args);
  // Merges one query's span into its running state (see above).
  void (*merge_span)(const float* span_out,
                     float span_max,
                     float span_sum,
                     int head_dim,
                     float* state_out,
                     float* state_max,
                     float* state_sum);
  // out = state_out / state_sum for one query.
  void (*finish)(const float* state_out, float state_sum, int head_dim, float* out);
};

// The kernels of one ISA; what an ISA lacks is the next lower one's. Defined in attention.cc.
AttentionKernels MakeAttentionKernels(Isa isa);

}  // namespace whinchat::kernels
