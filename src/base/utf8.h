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

// The character at `*pos` of valid UTF-8; moves `*pos` behind it.
inline char32_t NextCodePoint(std::string_view valid_text, size_t* pos) {
  const auto byte = [&](size_t i) -> uint32_t {
    return static_cast<uint8_t>(valid_text[*pos + i]);
  };
  const auto tail = [&](size_t i) -> uint32_t { return byte(i) & 0x3F; };
  const uint32_t lead = byte(0);
  uint32_t code_point = lead;
  size_t num_bytes = 1;
  if (lead >= 0xF0) {
    code_point = (lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
    num_bytes = 4;
  } else if (lead >= 0xE0) {
    code_point = (lead & 0x0F) << 12 | tail(1) << 6 | tail(2);
    num_bytes = 3;
  } else if (lead >= 0xC0) {
    code_point = (lead & 0x1F) << 6 | tail(1);
    num_bytes = 2;
  }
  *pos += num_bytes;
  return code_point;
}

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
