// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding of one word over flat hash tables. A word that is a token, and that its own
// merges lead to, costs one look-up; others are merged, lowest rank first, in arrays on the stack,
// or with a heap (n log n) if they are long. Splitting text into words is the pre-tokenizer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

class BytePairEncoder {
 public:
  // Throws Error{kCorruptFile} if a merge names what is no token.
  explicit BytePairEncoder(const TokenizerSpec& spec);

  // Appends the tokens of `word`, which must not be empty. Any thread may call it.
  void Encode(std::string_view word, std::vector<TokenId>& ids) const;

  std::optional<TokenId> FindToken(std::string_view bytes) const;

 private:
  // Longest word merged by scanning for the lowest rank; longer ones use a heap.
  static constexpr size_t kMaxScannedSymbols = 128;
  static constexpr int32_t kNoToken = -1;

  void AddMerges(const TokenizerSpec& spec);
  void MarkWholeWords(const TokenizerSpec& spec);
  size_t BytesToSymbols(std::string_view word, uint32_t* symbols) const;
  size_t MergeByScan(uint32_t* symbols, size_t num_symbols) const;
  size_t MergeByHeap(uint32_t* symbols, size_t num_symbols) const;
  void MergeWord(std::string_view word, std::vector<TokenId>& ids) const;

  TokenTable tokens_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_tokens_;  // kNoToken: the byte is no token
  bool has_all_bytes_ = false;
  std::optional<TokenId> unk_token_id_;
  bool fuse_unk_ = false;
};

}  // namespace whinchat
