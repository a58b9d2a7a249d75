// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/merge_table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace whinchat {

MergeTable::MergeTable(size_t num_merges) {
  const size_t num_slots = std::bit_ceil(std::max<size_t>(16, num_merges + num_merges * 3 / 5));
  filter_.resize((size_t{1} << kLogFilterBits) / 64);
  slots_.resize(num_slots);
  shift_ = 64 - std::countr_zero(num_slots);
}

void MergeTable::Insert(uint32_t left, uint32_t right, Merge merge) {
  const uint64_t pair = PairOf(left, right);
  size_t slot_idx = FirstSlot(pair);
  while (slots_[slot_idx].merge.rank != kNoRank && slots_[slot_idx].pair != pair) {
    slot_idx = (slot_idx + 1) & (slots_.size() - 1);
  }
  slots_[slot_idx] = {.pair = pair, .merge = merge};
  const size_t bit = FilterBit(pair);
  filter_[bit / 64] |= uint64_t{1} << (bit % 64);
}

}  // namespace whinchat
