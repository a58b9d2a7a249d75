// SPDX-License-Identifier: Apache-2.0
// Divides the memory budget at start: weights and scratch are given, the rest holds keys and
// values.
#pragma once

#include <cstddef>
#include <optional>

namespace whinchat {

// A context no longer than this where none is asked for.
inline constexpr int kDefaultMaxModelLen = 8192;

struct MemoryNeeds {
  size_t weight_bytes = 0;
  size_t scratch_bytes = 0;
  size_t kv_block_bytes = 0;
  int model_max_len = 0;             // what the model was made for
  std::optional<int> max_model_len;  // what the user asks for
  int max_num_seqs = 1;
  size_t budget_bytes = 0;
};

struct MemoryPlan {
  int max_model_len = 0;
  int num_kv_blocks = 0;
  size_t kv_bytes = 0;
  size_t total_bytes = 0;  // weights, scratch, keys and values
};

// Without max_model_len: min(the model's, 8,192), shrunk to what the budget holds. Blocks for
// max_num_seqs sequences of that length if they fit, for one at least. Throws
// Error{kInvalidArgument} for a max_model_len the model can't have, Error{kOutOfMemory} with all
// numbers when the budget does not hold it (or not even 256 tokens).
MemoryPlan PlanMemory(const MemoryNeeds& needs);

}  // namespace whinchat
