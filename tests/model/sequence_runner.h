// SPDX-License-Identifier: Apache-2.0
// Runs token sequences through a model chunk by chunk with a KV cache of its own, and keeps the
// logits of every position.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"

namespace whinchat {

// One sequence and the blocks it writes to.
struct RunningSequence {
  std::vector<TokenId> tokens;
  std::vector<BlockId> blocks;
  int num_computed = 0;
  std::vector<std::vector<float>> logits;  // [position][vocab_size]; empty if not computed here

  int NumLeft() const { return static_cast<int>(tokens.size()) - num_computed; }
};

class SequenceRunner {
 public:
  SequenceRunner(Model* model, int num_blocks, int max_tokens)
      : model_(model), cache_(model->kv_layout(), num_blocks) {
    model->Reserve(max_tokens, max_tokens);
  }

  PagedKvCache& cache() { return cache_; }

  // Blocks are handed out in steps of 7, so that neighbours in a sequence are none in memory.
  RunningSequence Start(std::vector<TokenId> tokens) {
    RunningSequence sequence;
    const size_t num_blocks = (tokens.size() + kKvBlockTokens - 1) / kKvBlockTokens;
    for (size_t i = 0; i < num_blocks; ++i) {
      sequence.blocks.push_back(NextBlock());
    }
    sequence.logits.resize(tokens.size());
    sequence.tokens = std::move(tokens);
    return sequence;
  }

  BlockId NextBlock() {
    while (is_used_.size() < static_cast<size_t>(cache_.num_blocks())) {
      is_used_.push_back(false);
    }
    BlockId block = next_block_;
    while (is_used_[static_cast<size_t>(block)]) {
      block = (block + 1) % cache_.num_blocks();
    }
    is_used_[static_cast<size_t>(block)] = true;
    next_block_ = (block + 7) % cache_.num_blocks();
    return block;
  }

  // One forward pass: chunk_sizes[i] tokens of sequences[i], 0 leaves it out.
  void Step(std::span<RunningSequence* const> sequences, std::span<const int> chunk_sizes) {
    ForwardBatch batch;
    for (size_t i = 0; i < sequences.size(); ++i) {
      RunningSequence& sequence = *sequences[i];
      const int count = std::min(chunk_sizes[i], sequence.NumLeft());
      if (count > 0) {
        batch.chunks.push_back(
            {std::span<const TokenId>(sequence.tokens)
                 .subspan(static_cast<size_t>(sequence.num_computed), static_cast<size_t>(count)),
             sequence.num_computed,
             sequence.blocks,
             /*num_logits=*/count});
      }
    }
    const float* row = model_->Forward(batch, &cache_);
    const size_t vocab_size = static_cast<size_t>(model_->config().vocab_size);
    for (size_t i = 0; i < sequences.size(); ++i) {
      RunningSequence& sequence = *sequences[i];
      const int count = std::min(chunk_sizes[i], sequence.NumLeft());
      for (int j = 0; j < count; ++j, row += model_->logits_stride()) {
        sequence.logits[static_cast<size_t>(sequence.num_computed++)].assign(row, row + vocab_size);
      }
    }
  }

  // Computes what is left of one sequence in chunks.
  void Finish(RunningSequence& sequence, int chunk_size) {
    RunningSequence* const sequences[] = {&sequence};
    const int sizes[] = {chunk_size};
    while (sequence.NumLeft() > 0) {
      Step(sequences, sizes);
    }
  }

 private:
  Model* model_;
  PagedKvCache cache_;
  BlockId next_block_ = 0;
  std::vector<bool> is_used_;
};

}  // namespace whinchat
