// SPDX-License-Identifier: Apache-2.0
// Attention over the paged KV cache, and the queries of the layer being computed. What one span of
// 256 tokens gives, and how spans are merged, is defined in kernels/attention/attention.h; here it
// is only decided which thread computes which span, so the result does not depend on the split.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "kv_cache/paged_kv_cache.h"
#include "model/activation_rows.h"
#include "model/forward_plan.h"
#include "model/scratch_arena.h"

namespace whinchat {

class PagedAttention {
 public:
  PagedAttention(const ModelConfig& config,
                 const KvLayout& layout,
                 const kernels::KernelTable& kernel_table,
                 int num_threads);

  // Tokens of one tile of queries.
  int tile_tokens() const { return tile_tokens_; }

  // Takes the buffers for batches of up to max_tokens tokens.
  void TakeScratch(int max_tokens, ScratchArena* arena);

  // Before each forward pass, by one thread.
  void Begin(const ForwardPlan& plan, PagedKvCache* kv_cache);

  // Keeps one rotated query head for this layer. Any thread, each (row, head) once.
  void StoreQuery(int row, int head_idx, const float* query);
  // Writes one rotated key head and its value head into the cache.
  void StoreKeyValue(int layer_idx, int row, int kv_head_idx, const float* key, const float* value);

  // Computes all heads of all rows into `out` [num_rows, num_heads * head_dim]. Called by all
  // threads of the Run after a barrier behind the stores. Has a barrier of its own only where long
  // contexts of few sequences are shared out span by span. A barrier must follow.
  void Attend(Worker& worker, int layer_idx, const ActivationRows& out);

 private:
  // One result for each query of one tile and one KV head.
  struct SpanResults {
    float* out = nullptr;  // [num_queries, head_dim]
    float* max = nullptr;  // [num_queries]
    float* sum = nullptr;  // [num_queries]
  };
  struct WorkerScratch {
    SpanResults state;           // [tile_queries_]
    SpanResults span;            // [tile_queries_]
    int* num_visible = nullptr;  // [tile_queries_]
    float* heads = nullptr;      // [group_size_ * head_dim] one token's output
  };

  SpanResults TakeResults(size_t num_queries, ScratchArena* arena) const;
  SpanResults Offset(const SpanResults& results, size_t query_idx) const;
  // Of the first query of (row, kv_head) in the query buffers.
  size_t QueryIndex(int row, int kv_head_idx) const;
  SpanResults Partials(const QueryTile& tile, int kv_head_idx, int span_idx) const;

  void AttendTiles(int layer_idx, WorkerScratch& scratch, const ActivationRows& out);
  void AttendSpans(Worker& worker, int layer_idx, const ActivationRows& out);
  void ComputeSpan(int layer_idx,
                   const QueryTile& tile,
                   int kv_head_idx,
                   int span_idx,
                   const SpanResults& results,
                   int* num_visible) const;
  void Merge(const SpanResults& span, int num_queries, const SpanResults& state) const;
  void Finish(const QueryTile& tile,
              int kv_head_idx,
              const SpanResults& state,
              WorkerScratch& scratch,
              const ActivationRows& out) const;

  const int num_layers_;
  const int num_kv_heads_;
  const int group_size_;  // query heads of one KV head
  const int head_dim_;
  const bool is_int8_;
  const float softmax_scale_;
  const kernels::KernelTable& kernels_;
  const int num_threads_;
  const int tile_tokens_;
  const size_t max_partials_;  // room for one sequence as long as the model allows

  const ForwardPlan* plan_ = nullptr;
  PagedKvCache* kv_cache_ = nullptr;
  bool share_spans_ = false;                       // of this batch
  std::unique_ptr<std::atomic<int>[]> next_item_;  // [num_layers] work handed out so far

  int max_tokens_ = 0;
  int8_t* q_codes_ = nullptr;  // [num_kv_heads, max_tokens, group_size, head_dim]  int8 cache
  float* q_scales_ = nullptr;  // [num_kv_heads, max_tokens, group_size]
  int32_t* q_sums_ = nullptr;  // [num_kv_heads, max_tokens, group_size]
  float* q_f32_ = nullptr;     // [num_kv_heads, max_tokens, group_size, head_dim]  fp32 cache
  SpanResults partials_;       // [max_partials_ * num_kv_heads * group_size] queries
  std::vector<WorkerScratch> worker_scratch_;
};

}  // namespace whinchat
