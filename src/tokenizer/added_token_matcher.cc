// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_token_matcher.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/char_class.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

bool IsWhiteSpace(uint8_t flags) {
  const auto char_class = static_cast<CharClass>(flags & kCharClassMask);
  return char_class == CharClass::kSpace || char_class == CharClass::kNewline;
}

// Where the last character of `text` (valid UTF-8, not empty) begins.
size_t LastCharacterBegin(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) {
    --begin;
  }
  return begin;
}

uint8_t FlagsOfFirst(const CharClassTable& classes, std::string_view text) {
  return classes.FlagsOf(DecodeUtf8Character(text).code_point);
}

size_t TrailingSpaceBegin(const CharClassTable& classes, std::string_view text) {
  while (!text.empty()) {
    const size_t begin = LastCharacterBegin(text);
    if (!IsWhiteSpace(FlagsOfFirst(classes, text.substr(begin)))) {
      break;
    }
    text = text.substr(0, begin);
  }
  return text.size();
}

size_t LeadingSpaceEnd(const CharClassTable& classes, std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    const Utf8Character character = DecodeUtf8Character(text.substr(end));
    if (!IsWhiteSpace(classes.FlagsOf(character.code_point))) {
      break;
    }
    end += static_cast<size_t>(character.num_bytes);
  }
  return end;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher() : classes_(CharClassTable::Get()), nodes_(1) {
  root_children_.fill(-1);
}

void AddedTokenMatcher::Add(std::string_view content, const AddedToken& token) {
  int32_t node_idx = 0;
  for (const char c : content) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t child = FindChild(node_idx, byte);
    if (child < 0) {
      child = static_cast<int32_t>(nodes_.size());
      nodes_.push_back(
          {.byte = byte, .next_sibling = nodes_[static_cast<size_t>(node_idx)].first_child});
      nodes_[static_cast<size_t>(node_idx)].first_child = child;
      if (node_idx == 0) {
        root_children_[byte] = child;
      }
    }
    node_idx = child;
  }
  nodes_[static_cast<size_t>(node_idx)].pattern_idx = static_cast<int32_t>(patterns_.size());
  patterns_.push_back({.id = token.id,
                       .is_special = token.is_special,
                       .lstrip = token.lstrip,
                       .rstrip = token.rstrip,
                       .single_word = token.single_word});
}

int32_t AddedTokenMatcher::FindChild(int32_t node_idx, uint8_t byte) const {
  int32_t child = nodes_[static_cast<size_t>(node_idx)].first_child;
  while (child >= 0 && nodes_[static_cast<size_t>(child)].byte != byte) {
    child = nodes_[static_cast<size_t>(child)].next_sibling;
  }
  return child;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::FindNext(std::string_view text,
                                                                    size_t begin) const {
  for (; begin < text.size(); ++begin) {
    int32_t node_idx = root_children_[static_cast<uint8_t>(text[begin])];
    int32_t pattern_idx = -1;
    size_t match_end = begin;
    for (size_t i = begin + 1; node_idx >= 0; ++i) {
      if (nodes_[static_cast<size_t>(node_idx)].pattern_idx >= 0) {
        pattern_idx = nodes_[static_cast<size_t>(node_idx)].pattern_idx;
        match_end = i;
      }
      if (i >= text.size()) {
        break;
      }
      node_idx = FindChild(node_idx, static_cast<uint8_t>(text[i]));
    }
    if (pattern_idx >= 0) {
      return Match{begin, match_end, &patterns_[static_cast<size_t>(pattern_idx)]};
    }
  }
  return std::nullopt;
}

bool AddedTokenMatcher::IsSingleWord(std::string_view text, const Match& match) const {
  const std::string_view before = text.substr(0, match.begin);
  const std::string_view after = text.substr(match.end);
  const auto is_word = [this](std::string_view rest) {
    return (FlagsOfFirst(classes_, rest) & kIsWord) != 0;
  };
  return (before.empty() || !is_word(before.substr(LastCharacterBegin(before)))) &&
         (after.empty() || !is_word(after));
}

// NOTE: the reference drops a match that its rules refuse without trying a shorter one there, and
// looks for the next match behind the token itself, not behind the white space it took.
void AddedTokenMatcher::Split(std::string_view text,
                              bool match_special,
                              std::vector<TextPart>& parts) const {
  size_t covered = 0;
  size_t search_begin = 0;
  while (const std::optional<Match> match = FindNext(text, search_begin)) {
    search_begin = match->end;
    const Pattern& pattern = *match->pattern;
    if ((pattern.is_special && !match_special) ||
        (pattern.single_word && !IsSingleWord(text, *match))) {
      continue;
    }
    size_t begin = match->begin;
    size_t end = match->end;
    if (pattern.lstrip) {
      begin = begin <= covered
                  ? covered
                  : covered + TrailingSpaceBegin(classes_, text.substr(covered, begin - covered));
    }
    if (pattern.rstrip) {
      end += LeadingSpaceEnd(classes_, text.substr(end));
    }
    if (covered < begin) {
      parts.push_back({covered, begin, std::nullopt});
    }
    parts.push_back({begin, end, pattern.id});
    covered = end;
  }
  if (covered < text.size()) {
    parts.push_back({covered, text.size(), std::nullopt});
  }
}

}  // namespace whinchat
