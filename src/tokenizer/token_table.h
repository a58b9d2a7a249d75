// SPDX-License-Identifier: Apache-2.0
// Token bytes -> token id: open addressing, one 16-byte slot a token. Up to 8 bytes are compared in
// the slot itself; longer ones by a 64-bit hash first, then byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

class TokenTable {
 public:
  struct Entry {
    TokenId id = 0;
    bool is_merged = false;  // merging these bytes gives this token
  };

  // Room for `num_tokens` insertions.
  explicit TokenTable(size_t num_tokens);

  // Keeps the first of equal tokens. `bytes` must not be empty.
  void Insert(std::string_view bytes, TokenId id);
  // The token must be in the table.
  void MarkMerged(std::string_view bytes);

  std::optional<Entry> Find(std::string_view bytes) const {
    const Slot& slot = slots_[FindSlot(bytes)];
    if (slot.num_bytes == 0) {
      return std::nullopt;
    }
    return Entry{static_cast<TokenId>(slot.id_and_mark >> 1), (slot.id_and_mark & 1) != 0};
  }
  size_t max_token_bytes() const { return max_token_bytes_; }

 private:
  struct Slot {
    uint64_t key = 0;        // the bytes, or a hash of more than 8
    uint32_t num_bytes = 0;  // 0: free
    uint32_t id_and_mark = 0;
  };

  static uint64_t KeyOf(std::string_view bytes);
  size_t FirstSlot(uint64_t key, size_t num_bytes) const {
    return static_cast<size_t>(((key ^ num_bytes) * 0x9E3779B97F4A7C15) >> shift_);
  }
  bool HoldsBytes(const Slot& slot, std::string_view bytes) const;
  size_t FindSlot(std::string_view bytes) const;

  std::vector<Slot> slots_;  // a power of two, at most 5/8 full
  int shift_ = 0;
  size_t max_token_bytes_ = 0;
  std::string long_bytes_;             // the tokens of more than 8 bytes, one after another
  std::vector<uint32_t> long_begins_;  // by id: where in long_bytes_
};

}  // namespace whinchat
