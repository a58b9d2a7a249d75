// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding of one word over flat hash tables. A word that is a token, and that its own
// merges lead to, costs one look-up. Others are cut where no token can reach over; a piece is again
// looked up, or merged, lowest rank first, in arrays on the stack, or with a heap (n log n) if it
// is long. Splitting text into words is the pre-tokenizer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/char_pair_filter.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

class BytePairEncoder {
 public:
  // Throws Error{kCorruptFile} if a merge names what is no token.
  explicit BytePairEncoder(const TokenizerSpec& spec);

  // Appends the tokens of `word`, valid UTF-8 and not empty. Any thread may call it.
  void Encode(std::string_view word, std::vector<TokenId>& ids) const;

  std::optional<TokenId> FindToken(std::string_view bytes) const;

 private:
  // Longest word merged by scanning for the lowest rank; longer ones use a heap.
  static constexpr size_t kMaxScannedSymbols = 128;
  static constexpr int32_t kNoToken = -1;

  void AddTokens(const TokenizerSpec& spec);
  void AddMerges(const TokenizerSpec& spec);
  void CheckMergeOrder(const std::vector<MergeTable::Entry>& merges, size_t num_tokens);
  void MarkMergedTokens(const TokenizerSpec& spec);
  bool HasOnlyTokenBytes(std::string_view word) const;
  void EncodePiece(std::string_view piece, std::vector<TokenId>& ids) const;
  size_t BytesToSymbols(std::string_view word, uint32_t* symbols) const;
  size_t CharactersToSymbols(std::string_view piece, uint32_t* symbols) const;
  size_t MergeSymbols(uint32_t* symbols, size_t num_symbols) const;
  size_t MergeByScan(uint32_t* symbols, size_t num_symbols) const;
  size_t MergeByHeap(uint32_t* symbols, size_t num_symbols) const;
  void MergeWord(std::string_view word, std::vector<TokenId>& ids) const;

  TokenTable tokens_;
  MergeTable merges_;
  CharPairFilter char_pairs_;
  std::array<int32_t, 256> byte_tokens_;  // kNoToken: the byte is no token
  bool has_all_bytes_ = false;
  std::optional<TokenId> unk_token_id_;
  bool fuse_unk_ = false;
  bool ignore_merges_ = false;
  // Each token is made by lower ranks than those that use it, as training makes them. Then the
  // order of merges that don't touch is free, and whole characters can be put in first.
  bool has_ordered_merges_ = false;
};

}  // namespace whinchat
