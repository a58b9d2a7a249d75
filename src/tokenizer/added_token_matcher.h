// SPDX-License-Identifier: Apache-2.0
// Finds added tokens in text: leftmost, then longest, with the white space and word rules of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/char_class.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

// A part of a text: an added token (with the white space it takes along), or what is between two.
struct TextPart {
  size_t begin = 0;
  size_t end = 0;
  std::optional<TokenId> added_token;
};

class AddedTokenMatcher {
 public:
  AddedTokenMatcher();

  // `content` is not empty and is what to look for (for a normalized token: its normal form).
  void Add(std::string_view content, const AddedToken& token);
  bool empty() const { return patterns_.empty(); }

  // The parts of `text` (valid UTF-8) in order. Special tokens stay text unless `match_special`.
  void Split(std::string_view text, bool match_special, std::vector<TextPart>& parts) const;

 private:
  struct Pattern {
    TokenId id = 0;
    bool is_special = false;
    bool lstrip = false;
    bool rstrip = false;
    bool single_word = false;
  };
  // A trie as first-child/next-sibling lists; children are few.
  struct Node {
    uint8_t byte = 0;
    int32_t first_child = -1;
    int32_t next_sibling = -1;
    int32_t pattern_idx = -1;
  };
  struct Match {
    size_t begin = 0;
    size_t end = 0;
    const Pattern* pattern = nullptr;
  };

  int32_t FindChild(int32_t node_idx, uint8_t byte) const;
  std::optional<Match> FindNext(std::string_view text, size_t begin) const;
  bool IsSingleWord(std::string_view text, const Match& match) const;

  const CharClassTable& classes_;
  std::vector<Pattern> patterns_;
  std::vector<Node> nodes_;                 // [0] is the root
  std::array<int32_t, 256> root_children_;  // by byte; -1: no pattern begins with it
};

}  // namespace whinchat
