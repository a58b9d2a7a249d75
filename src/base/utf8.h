// SPDX-License-Identifier: Apache-2.0
// UTF-8 as the Unicode standard (chapter 3.9) and Python's bytes.decode(errors="replace") see it:
// each maximal part of an ill-formed sequence is one U+FFFD. Classes and normal forms of
// characters are the tokenizer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whinchat {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct Utf8Character {
  char32_t code_point = kReplacementCharacter;
  int num_bytes = 0;  // of the character, or of the maximal ill-formed part
  bool is_valid = false;
  bool is_cut = false;  // ill-formed only because `text` ends: more bytes could complete it
};

// The first character of `text`, which must not be empty.
Utf8Character DecodeUtf8Character(std::string_view text);

// The length of the well-formed beginning of `text`: text.size() if all of it is valid.
size_t ValidUtf8Length(std::string_view text);
inline bool IsValidUtf8(std::string_view text) {
  return ValidUtf8Length(text) == text.size();
}

// `text` with each maximal ill-formed part replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// `code_point` must be a Unicode scalar value (no surrogate, at most 0x10FFFF).
void AppendUtf8(char32_t code_point, std::string& text);

// How many bytes at the end of `text` (0 to 3) begin a character that more bytes could complete.
size_t CutUtf8SuffixLength(std::string_view text);

}  // namespace whinchat
