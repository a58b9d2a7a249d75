// SPDX-License-Identifier: Apache-2.0
// A batch laid out for the forward pass: its tokens as rows, and its queries as tiles. Built by one
// thread before the pass; read by all. Allocates in Reserve only.
#pragma once

#include <span>
#include <vector>

#include "model/model.h"
#include "tensor/kv_layout.h"

namespace whinchat {

// Where one token stands.
struct TokenRow {
  TokenId token_id = 0;
  int position = 0;
  BlockId block_id = 0;  // that its key and value go into
  int slot = 0;          // in the block
};

// Consecutive queries of one sequence whose positions lie in one span of 256.
struct QueryTile {
  int row_begin = 0;
  int num_rows = 0;
  int position = 0;  // of row_begin
  std::span<const BlockId> block_table;
  size_t partial_begin = 0;  // of its split attention results, in queries of one KV head

  // Spans that the tile's queries see, the last one in part.
  int NumSpans() const { return (position + num_rows - 1) / kAttentionSpanTokens + 1; }
};

class ForwardPlan {
 public:
  // `tile_tokens` is a power of two of at most 256.
  void Reserve(int max_tokens, int tile_tokens);

  // Precondition: at most max_tokens tokens, and block tables that cover them.
  void Build(const ForwardBatch& batch);

  int num_rows() const { return static_cast<int>(rows_.size()); }
  const std::vector<TokenRow>& rows() const { return rows_; }
  const std::vector<QueryTile>& tiles() const { return tiles_; }
  // The rows whose logits are wanted, in the chunks' order.
  const std::vector<int>& logit_rows() const { return logit_rows_; }
  int num_positions() const { return num_positions_; }  // the greatest position + 1
  // Spans over all tiles, and their results' number for one KV head and one query head.
  int num_spans() const { return num_spans_; }
  size_t num_partials() const { return num_partials_; }

 private:
  void AddChunk(const SequenceChunk& chunk);
  void AddTiles(const SequenceChunk& chunk, int first_row);

  int tile_tokens_ = 1;
  std::vector<TokenRow> rows_;
  std::vector<QueryTile> tiles_;
  std::vector<int> logit_rows_;
  int num_positions_ = 0;
  int num_spans_ = 0;
  size_t num_partials_ = 0;
};

}  // namespace whinchat
