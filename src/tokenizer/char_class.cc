// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/char_class.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace whinchat {

const CharClassTable& CharClassTable::Get() {
  static const CharClassTable table;
  return table;
}

CharClassTable::CharClassTable() {
  constexpr size_t kNoBlock = std::numeric_limits<size_t>::max();
  std::array<size_t, 256> uniform_block;  // by flags: the block that holds only them
  uniform_block.fill(kNoBlock);
  size_t range_idx = 0;
  for (uint32_t begin = 0; begin < kNumCodePoints; begin += kBlockSize) {
    std::array<uint8_t, kBlockSize> block;
    for (uint32_t i = 0; i < kBlockSize; ++i) {
      while (range_idx + 1 < kCharClassRanges.size() &&
             kCharClassRanges[range_idx + 1] >> 8 <= begin + i) {
        ++range_idx;
      }
      block[i] = static_cast<uint8_t>(kCharClassRanges[range_idx] & 0xFF);
    }
    const bool is_uniform = std::ranges::all_of(block, [&](uint8_t f) { return f == block[0]; });
    size_t block_idx = is_uniform ? uniform_block[block[0]] : kNoBlock;
    if (block_idx == kNoBlock) {
      block_idx = blocks_.size() / kBlockSize;
      blocks_.insert(blocks_.end(), block.begin(), block.end());
    }
    if (is_uniform) {
      uniform_block[block[0]] = block_idx;
    }
    WHINCHAT_CHECK(block_idx <= std::numeric_limits<uint16_t>::max());
    index_[begin >> kBlockBits] = static_cast<uint16_t>(block_idx);
  }
}

}  // namespace whinchat
