// SPDX-License-Identifier: Apache-2.0
#include "model/forward_plan.h"

#include <algorithm>

#include "base/check.h"

namespace whinchat {

void ForwardPlan::Reserve(int max_tokens, int tile_tokens) {
  WHINCHAT_CHECK(tile_tokens >= 1 && kAttentionSpanTokens % tile_tokens == 0);
  tile_tokens_ = tile_tokens;
  rows_.reserve(static_cast<size_t>(max_tokens));
  tiles_.reserve(static_cast<size_t>(max_tokens));  // each has a token at least
  logit_rows_.reserve(static_cast<size_t>(max_tokens));
}

void ForwardPlan::Build(const ForwardBatch& batch) {
  rows_.clear();
  tiles_.clear();
  logit_rows_.clear();
  num_positions_ = 0;
  num_spans_ = 0;
  num_partials_ = 0;
  WHINCHAT_CHECK(static_cast<size_t>(batch.NumTokens()) <= rows_.capacity());
  for (const SequenceChunk& chunk : batch.chunks) {
    AddChunk(chunk);
  }
}

void ForwardPlan::AddChunk(const SequenceChunk& chunk) {
  const int first_row = num_rows();
  const int num_tokens = static_cast<int>(chunk.token_ids.size());
  const int end = chunk.start_position + num_tokens;
  WHINCHAT_CHECK(chunk.start_position >= 0 && chunk.num_logits >= 0 &&
                 chunk.num_logits <= num_tokens);
  WHINCHAT_CHECK(chunk.block_table.size() * kKvBlockTokens >= static_cast<size_t>(end));
  for (int i = 0; i < num_tokens; ++i) {
    const int position = chunk.start_position + i;
    const size_t block_idx = static_cast<size_t>(position / kKvBlockTokens);
    rows_.push_back({chunk.token_ids[static_cast<size_t>(i)],
                     position,
                     chunk.block_table[block_idx],
                     position % kKvBlockTokens});
  }
  for (int i = num_tokens - chunk.num_logits; i < num_tokens; ++i) {
    logit_rows_.push_back(first_row + i);
  }
  AddTiles(chunk, first_row);
  num_positions_ = std::max(num_positions_, end);
}

void ForwardPlan::AddTiles(const SequenceChunk& chunk, int first_row) {
  const int end = chunk.start_position + static_cast<int>(chunk.token_ids.size());
  for (int position = chunk.start_position; position < end;) {
    // Tiles end at multiples of their size, so none crosses a span.
    const int tile_end = std::min(end, (position / tile_tokens_ + 1) * tile_tokens_);
    QueryTile tile;
    tile.row_begin = first_row + position - chunk.start_position;
    tile.num_rows = tile_end - position;
    tile.position = position;
    tile.block_table = chunk.block_table;
    tile.partial_begin = num_partials_;
    num_spans_ += tile.NumSpans();
    num_partials_ += static_cast<size_t>(tile.NumSpans()) * static_cast<size_t>(tile.num_rows);
    tiles_.push_back(tile);
    position = tile_end;
  }
}

}  // namespace whinchat
