// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_table.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/token_id.h"

namespace whinchat {
namespace {

uint64_t Load32(const char* bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

uint64_t Load64(const char* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  return std::rotl((hash ^ word) * 0x9FB21C651E98DF25, 29);
}

}  // namespace

TokenTable::TokenTable(size_t num_tokens) {
  const size_t num_slots = std::bit_ceil(std::max<size_t>(16, num_tokens + num_tokens * 3 / 5));
  slots_.resize(num_slots);
  shift_ = 64 - std::countr_zero(num_slots);
}

// Equal bytes give equal keys. Up to 8 bytes the key is the bytes (read as overlapping words, which
// costs no loop); above it is a hash.
uint64_t TokenTable::KeyOf(std::string_view bytes) {
  const char* data = bytes.data();
  const size_t size = bytes.size();
  if (size > 8) {
    uint64_t hash = size;
    for (size_t i = 0; i + 8 < size; i += 8) {
      hash = Mix(hash, Load64(data + i));
    }
    return Mix(hash, Load64(data + size - 8));
  }
  if (size == 8) {
    return Load64(data);
  }
  if (size >= 4) {
    return Load32(data) | Load32(data + size - 4) << (8 * (size - 4));
  }
  const auto byte = [data](size_t i) {
    return static_cast<uint64_t>(static_cast<uint8_t>(data[i])) << (8 * i);
  };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

bool TokenTable::HoldsBytes(const Slot& slot, std::string_view bytes) const {
  if (bytes.size() <= 8) {
    return true;  // the key was the bytes
  }
  const char* begin = long_bytes_.data() + long_begins_[slot.id_and_mark >> 1];
  return std::memcmp(begin, bytes.data(), bytes.size()) == 0;
}

size_t TokenTable::FindSlot(std::string_view bytes) const {
  const uint64_t key = KeyOf(bytes);
  size_t slot_idx = FirstSlot(key, bytes.size());
  while (true) {
    const Slot& slot = slots_[slot_idx];
    if (slot.num_bytes == 0 ||
        (slot.key == key && slot.num_bytes == bytes.size() && HoldsBytes(slot, bytes))) {
      return slot_idx;
    }
    slot_idx = (slot_idx + 1) & (slots_.size() - 1);
  }
}

void TokenTable::Insert(std::string_view bytes, TokenId id) {
  WHINCHAT_CHECK(!bytes.empty() && id >= 0);
  Slot& slot = slots_[FindSlot(bytes)];
  if (slot.num_bytes != 0) {
    return;
  }
  slot = {.key = KeyOf(bytes),
          .num_bytes = static_cast<uint32_t>(bytes.size()),
          .id_and_mark = static_cast<uint32_t>(id) << 1};
  max_token_bytes_ = std::max(max_token_bytes_, bytes.size());
  if (bytes.size() > 8) {
    const auto idx = static_cast<size_t>(id);
    long_begins_.resize(std::max(long_begins_.size(), idx + 1));
    long_begins_[idx] = static_cast<uint32_t>(long_bytes_.size());
    long_bytes_.append(bytes);
  }
}

void TokenTable::MarkMerged(std::string_view bytes) {
  Slot& slot = slots_[FindSlot(bytes)];
  WHINCHAT_CHECK(slot.num_bytes != 0);
  slot.id_and_mark |= 1;
}

}  // namespace whinchat
