// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/paged_kv_cache.h"

#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/error.h"

namespace whinchat {
namespace {

size_t TotalBytes(const KvLayout& layout, int num_blocks) {
  WHINCHAT_CHECK(num_blocks >= 0);
  const size_t block_bytes = layout.BlockBytes();
  const size_t count = static_cast<size_t>(num_blocks);
  if (block_bytes != 0 && count > std::numeric_limits<size_t>::max() / block_bytes) {
    ThrowError(ErrorCode::kOutOfMemory,
               "a KV cache of {} blocks of {} bytes exceeds the address space; ask for a shorter "
               "context or fewer sequences",
               num_blocks,
               block_bytes);
  }
  return block_bytes * count;
}

}  // namespace

PagedKvCache::PagedKvCache(const KvLayout& layout, int num_blocks)
    : layout_(layout),
      num_blocks_(num_blocks),
      blocks_(TotalBytes(layout, num_blocks), "the KV cache") {}

std::byte* PagedKvCache::Block(BlockId block_id) {
  WHINCHAT_DCHECK(block_id >= 0 && block_id < num_blocks_);
  return blocks_.data() + static_cast<size_t>(block_id) * layout_.BlockBytes();
}

std::byte* PagedKvCache::Head(BlockId block_id, int layer_idx, int kv_head_idx) {
  return Block(block_id) + layout_.HeadOffset(layer_idx, kv_head_idx);
}

void PagedKvCache::CopyBlock(BlockId from, BlockId to) {
  WHINCHAT_CHECK(from != to);
  std::memcpy(Block(to), Block(from), layout_.BlockBytes());
}

}  // namespace whinchat
