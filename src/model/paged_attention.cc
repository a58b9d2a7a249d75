// SPDX-License-Identifier: Apache-2.0
#include "model/paged_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace whinchat {
namespace {

constexpr int kBlocksPerSpan = kAttentionSpanTokens / kKvBlockTokens;
// Queries of one tile: enough to read each key block once for many, few enough for the L2 cache.
constexpr int kMaxTileQueries = 128;
constexpr int kMaxTileTokens = 64;
// With fewer items than this for each thread, spans are shared out instead of whole tiles.
constexpr int kMinItemsPerThread = 4;

int TileTokens(int group_size) {
  int tokens = 1;
  while (2 * tokens * group_size <= kMaxTileQueries && 2 * tokens <= kMaxTileTokens) {
    tokens *= 2;
  }
  return tokens;
}

int NumSpans(int num_tokens) {
  return (num_tokens + kAttentionSpanTokens - 1) / kAttentionSpanTokens;
}

}  // namespace

PagedAttention::PagedAttention(const ModelConfig& config,
                               const KvLayout& layout,
                               const kernels::KernelTable& kernel_table,
                               int num_threads)
    : num_layers_(config.num_layers),
      num_kv_heads_(config.num_kv_heads),
      group_size_(config.num_heads / config.num_kv_heads),
      head_dim_(config.head_dim),
      is_int8_(layout.dtype == KvDType::kInt8),
      softmax_scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)))),
      kernels_(kernel_table),
      num_threads_(num_threads),
      tile_tokens_(TileTokens(group_size_)),
      max_partials_(static_cast<size_t>(NumSpans(config.max_seq_len))),
      next_item_(std::make_unique<std::atomic<int>[]>(static_cast<size_t>(num_layers_))),
      worker_scratch_(static_cast<size_t>(num_threads)) {}

PagedAttention::SpanResults PagedAttention::TakeResults(size_t num_queries,
                                                        ScratchArena* arena) const {
  SpanResults results;
  results.out = arena->Take<float>(num_queries * static_cast<size_t>(head_dim_));
  results.max = arena->Take<float>(num_queries);
  results.sum = arena->Take<float>(num_queries);
  return results;
}

void PagedAttention::TakeScratch(int max_tokens, ScratchArena* arena) {
  max_tokens_ = max_tokens;
  const size_t group_size = static_cast<size_t>(group_size_);
  const size_t head_dim = static_cast<size_t>(head_dim_);
  const size_t kv_heads = static_cast<size_t>(num_kv_heads_);
  const size_t num_queries = static_cast<size_t>(max_tokens) * kv_heads * group_size;
  if (is_int8_) {
    q_codes_ = arena->Take<int8_t>(num_queries * head_dim);
    q_scales_ = arena->Take<float>(num_queries);
    q_sums_ = arena->Take<int32_t>(num_queries);
  } else {
    q_f32_ = arena->Take<float>(num_queries * head_dim);
  }
  partials_ = TakeResults(max_partials_ * kv_heads * group_size, arena);
  const size_t tile_queries = static_cast<size_t>(tile_tokens_) * group_size;
  for (WorkerScratch& scratch : worker_scratch_) {
    scratch.state = TakeResults(tile_queries, arena);
    scratch.span = TakeResults(tile_queries, arena);
    scratch.num_visible = arena->Take<int>(tile_queries);
    scratch.heads = arena->Take<float>(group_size * head_dim);
  }
}

void PagedAttention::Begin(const ForwardPlan& plan, PagedKvCache* kv_cache) {
  plan_ = &plan;
  kv_cache_ = kv_cache;
  const int num_tiles = static_cast<int>(plan.tiles().size());
  share_spans_ = num_threads_ > 1 && plan.num_spans() > num_tiles &&
                 num_tiles * num_kv_heads_ < kMinItemsPerThread * num_threads_ &&
                 plan.num_partials() <= max_partials_;
  for (int layer_idx = 0; layer_idx < num_layers_; ++layer_idx) {
    next_item_[static_cast<size_t>(layer_idx)].store(0, std::memory_order_relaxed);
  }
}

size_t PagedAttention::QueryIndex(int row, int kv_head_idx) const {
  const size_t token = static_cast<size_t>(kv_head_idx) * static_cast<size_t>(max_tokens_) +
                       static_cast<size_t>(row);
  return token * static_cast<size_t>(group_size_);
}

PagedAttention::SpanResults PagedAttention::Offset(const SpanResults& results,
                                                   size_t query_idx) const {
  return {results.out + query_idx * static_cast<size_t>(head_dim_),
          results.max + query_idx,
          results.sum + query_idx};
}

void PagedAttention::StoreQuery(int row, int head_idx, const float* query) {
  const size_t query_idx =
      QueryIndex(row, head_idx / group_size_) + static_cast<size_t>(head_idx % group_size_);
  const size_t element = query_idx * static_cast<size_t>(head_dim_);
  if (is_int8_) {
    kernels_.elementwise.quantize_query(query,
                                        head_dim_,
                                        softmax_scale_,
                                        q_codes_ + element,
                                        q_scales_ + query_idx,
                                        q_sums_ + query_idx);
  } else {
    std::copy_n(query, head_dim_, q_f32_ + element);
  }
}

void PagedAttention::StoreKeyValue(
    int layer_idx, int row, int kv_head_idx, const float* key, const float* value) {
  const TokenRow& token = plan_->rows()[static_cast<size_t>(row)];
  std::byte* head = kv_cache_->Head(token.block_id, layer_idx, kv_head_idx);
  const auto write =
      is_int8_ ? kernels_.elementwise.write_kv_int8 : kernels_.elementwise.write_kv_f32;
  write(key, value, head_dim_, token.slot, head);
}

void PagedAttention::Attend(Worker& worker, int layer_idx, const ActivationRows& out) {
  if (share_spans_) {
    AttendSpans(worker, layer_idx, out);
  } else {
    const size_t thread_idx = static_cast<size_t>(worker.thread_idx());
    AttendTiles(layer_idx, worker_scratch_[thread_idx], out);
  }
}

void PagedAttention::AttendTiles(int layer_idx, WorkerScratch& scratch, const ActivationRows& out) {
  const std::vector<QueryTile>& tiles = plan_->tiles();
  const int num_items = static_cast<int>(tiles.size()) * num_kv_heads_;
  std::atomic<int>& next_item = next_item_[static_cast<size_t>(layer_idx)];
  for (int item = next_item.fetch_add(1, std::memory_order_relaxed); item < num_items;
       item = next_item.fetch_add(1, std::memory_order_relaxed)) {
    // Last tiles first: in a prompt they see the most tokens, and small work is left for the end.
    const QueryTile& tile = tiles[tiles.size() - 1 - static_cast<size_t>(item / num_kv_heads_)];
    const int kv_head_idx = item % num_kv_heads_;
    const int num_queries = tile.num_rows * group_size_;
    ComputeSpan(layer_idx, tile, kv_head_idx, 0, scratch.state, scratch.num_visible);
    for (int span_idx = 1; span_idx < tile.NumSpans(); ++span_idx) {
      ComputeSpan(layer_idx, tile, kv_head_idx, span_idx, scratch.span, scratch.num_visible);
      Merge(scratch.span, num_queries, scratch.state);
    }
    Finish(tile, kv_head_idx, scratch.state, scratch, out);
  }
}

PagedAttention::SpanResults PagedAttention::Partials(const QueryTile& tile,
                                                     int kv_head_idx,
                                                     int span_idx) const {
  const int num_spans = tile.NumSpans();
  const size_t first = tile.partial_begin * static_cast<size_t>(num_kv_heads_ * group_size_);
  const size_t unit = static_cast<size_t>(kv_head_idx * num_spans + span_idx);
  return Offset(partials_, first + unit * static_cast<size_t>(tile.num_rows * group_size_));
}

void PagedAttention::AttendSpans(Worker& worker, int layer_idx, const ActivationRows& out) {
  WorkerScratch& scratch = worker_scratch_[static_cast<size_t>(worker.thread_idx())];
  int unit = 0;  // (tile, KV head, span), in order; this thread takes its contiguous share
  const WorkRange share = worker.Split(plan_->num_spans() * num_kv_heads_);
  for (const QueryTile& tile : plan_->tiles()) {
    const int num_units = tile.NumSpans() * num_kv_heads_;
    const int end = std::min(share.end - unit, num_units);
    for (int i = std::max(share.begin - unit, 0); i < end; ++i) {
      const int kv_head_idx = i / tile.NumSpans();
      const int span_idx = i % tile.NumSpans();
      const SpanResults results = Partials(tile, kv_head_idx, span_idx);
      ComputeSpan(layer_idx, tile, kv_head_idx, span_idx, results, scratch.num_visible);
    }
    unit += num_units;
  }
  worker.Barrier();
  const int num_items = static_cast<int>(plan_->tiles().size()) * num_kv_heads_;
  const WorkRange items = worker.Split(num_items);
  for (int item = items.begin; item < items.end; ++item) {
    const QueryTile& tile = plan_->tiles()[static_cast<size_t>(item / num_kv_heads_)];
    const int kv_head_idx = item % num_kv_heads_;
    const SpanResults state = Partials(tile, kv_head_idx, 0);
    for (int span_idx = 1; span_idx < tile.NumSpans(); ++span_idx) {
      Merge(Partials(tile, kv_head_idx, span_idx), tile.num_rows * group_size_, state);
    }
    Finish(tile, kv_head_idx, state, scratch, out);
  }
}

void PagedAttention::ComputeSpan(int layer_idx,
                                 const QueryTile& tile,
                                 int kv_head_idx,
                                 int span_idx,
                                 const SpanResults& results,
                                 int* num_visible) const {
  const int span_begin = span_idx * kAttentionSpanTokens;
  for (int i = 0; i < tile.num_rows; ++i) {
    const int visible = std::min(tile.position + i + 1 - span_begin, kAttentionSpanTokens);
    std::fill_n(num_visible + i * group_size_, group_size_, visible);
  }
  std::array<const std::byte*, kBlocksPerSpan> heads = {};
  const int last_visible =
      std::min(tile.position + tile.num_rows - span_begin, kAttentionSpanTokens);
  for (int i = 0; i * kKvBlockTokens < last_visible; ++i) {
    const size_t block_idx = static_cast<size_t>(span_idx * kBlocksPerSpan + i);
    heads[static_cast<size_t>(i)] =
        kv_cache_->Head(tile.block_table[block_idx], layer_idx, kv_head_idx);
  }
  const size_t query_idx = QueryIndex(tile.row_begin, kv_head_idx);
  const size_t element = query_idx * static_cast<size_t>(head_dim_);
  kernels::AttentionSpanArgs args;
  if (is_int8_) {
    args.q_codes = q_codes_ + element;
    args.q_scales = q_scales_ + query_idx;
    args.q_sums = q_sums_ + query_idx;
  } else {
    args.q_f32 = q_f32_ + element;
    args.softmax_scale = softmax_scale_;
  }
  args.num_visible = num_visible;
  args.num_queries = tile.num_rows * group_size_;
  args.head_dim = head_dim_;
  args.heads = heads.data();
  args.out = results.out;
  args.max = results.max;
  args.sum = results.sum;
  const kernels::AttentionKernels& attention = kernels_.attention;
  (is_int8_ ? attention.attention_span_int8 : attention.attention_span_f32)(args);
}

void PagedAttention::Merge(const SpanResults& span,
                           int num_queries,
                           const SpanResults& state) const {
  for (int i = 0; i < num_queries; ++i) {
    const size_t idx = static_cast<size_t>(i);
    const SpanResults from = Offset(span, idx);
    const SpanResults to = Offset(state, idx);
    kernels_.attention.merge_span(
        from.out, *from.max, *from.sum, head_dim_, to.out, to.max, to.sum);
  }
}

void PagedAttention::Finish(const QueryTile& tile,
                            int kv_head_idx,
                            const SpanResults& state,
                            WorkerScratch& scratch,
                            const ActivationRows& out) const {
  const int num_columns = group_size_ * head_dim_;
  const int column = kv_head_idx * num_columns;
  for (int i = 0; i < tile.num_rows; ++i) {
    const int row = tile.row_begin + i;
    float* heads = out.is_quantized ? scratch.heads : out.RowF32(row) + column;
    for (int j = 0; j < group_size_; ++j) {
      const SpanResults result = Offset(state, static_cast<size_t>(i * group_size_ + j));
      kernels_.attention.finish(result.out, *result.sum, head_dim_, heads + j * head_dim_);
    }
    if (out.is_quantized) {
      out.Quantize(kernels_.elementwise, heads, num_columns, row, column);
    }
  }
}

}  // namespace whinchat
