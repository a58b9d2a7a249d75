// SPDX-License-Identifier: Apache-2.0
// The memory of the paged KV cache: one anonymous mapping, touched only as blocks are used.
#pragma once

#include <cstddef>

#include "base/anonymous_mapping.h"
#include "kv_cache/block_manager.h"
#include "tensor/kv_layout.h"

namespace whinchat {

class PagedKvCache {
 public:
  // Reserves num_blocks * layout.BlockBytes() of address space. Throws Error{kOutOfMemory}.
  PagedKvCache(const KvLayout& layout, int num_blocks);
  PagedKvCache(const PagedKvCache&) = delete;
  PagedKvCache& operator=(const PagedKvCache&) = delete;

  const KvLayout& layout() const { return layout_; }
  int num_blocks() const { return num_blocks_; }

  std::byte* Block(BlockId block_id);
  std::byte* Head(BlockId block_id, int layer_idx, int kv_head_idx);

  // Copies a whole block (the partial-block hit of a prefix lookup).
  void CopyBlock(BlockId from, BlockId to);

 private:
  KvLayout layout_;
  int num_blocks_;
  AnonymousMapping blocks_;
};

}  // namespace whinchat
