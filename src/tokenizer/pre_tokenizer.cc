// SPDX-License-Identifier: Apache-2.0
// The expressions, as Oniguruma runs them (alternatives in order, greedy):
//   GPT-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   SmolLM   each digit apart, then GPT-2 on what is between
//   Qwen2    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*
//            |\s*[\r\n]+|\s+(?!\S)|\s+
//   Llama-3  the same with \p{N}{1,3}
#include "tokenizer/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "tokenizer/char_class.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

struct Character {
  CharClass char_class = CharClass::kEnd;
  size_t end = 0;  // where the next one begins
};

// A view of the text as classes. With `split_digits` a digit ends the text, as it does for the
// expression that runs on the pieces between digits.
template <bool split_digits>
class ClassReader {
 public:
  ClassReader(const CharClassTable& classes, std::string_view text)
      : classes_(classes), text_(text) {}

  Character At(size_t pos) const {
    if (pos >= text_.size()) {
      return {CharClass::kEnd, pos};
    }
    const uint8_t flags = FlagsAt(&pos);
    if (split_digits && (flags & kIsNumeric) != 0) {
      return {CharClass::kEnd, pos};
    }
    return {static_cast<CharClass>(flags & kCharClassMask), pos};
  }

  bool IsDigit(size_t pos) const { return (FlagsAt(&pos) & kIsNumeric) != 0; }
  uint8_t ByteAt(size_t pos) const {
    return pos < text_.size() ? static_cast<uint8_t>(text_[pos]) : uint8_t{0};
  }

  // The end of the longest run of `char_class` from `pos` on.
  size_t RunEnd(size_t pos, CharClass char_class) const {
    for (Character next = At(pos); next.char_class == char_class; next = At(pos)) {
      pos = next.end;
    }
    return pos;
  }

 private:
  // The flags of the character at `*pos`, and `*pos` behind it. The text is valid UTF-8.
  uint8_t FlagsAt(size_t* pos) const { return classes_.FlagsOf(NextCodePoint(text_, pos)); }

  const CharClassTable& classes_;
  std::string_view text_;
};

// The length of 's 't 're 've 'm 'll 'd at `begin`, or 0. Ignoring case, U+017F folds to s.
template <bool ignore_case, typename Reader>
size_t ContractionLength(const Reader& reader, size_t begin) {
  if (reader.ByteAt(begin) != '\'') {
    return 0;
  }
  const auto lower = [&](size_t pos) -> uint8_t {
    const uint8_t byte = reader.ByteAt(pos);
    return ignore_case && byte >= 'A' && byte <= 'Z' ? static_cast<uint8_t>(byte | 0x20) : byte;
  };
  const uint8_t second = lower(begin + 1);
  switch (second) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return lower(begin + 2) == 'e' ? 3 : 0;
    case 'l':
      return lower(begin + 2) == 'l' ? 3 : 0;
    case 0xC5:
      return ignore_case && reader.ByteAt(begin + 2) == 0xBF ? 3 : 0;
    default:
      return 0;
  }
}

// \s+(?!\S)|\s+ on white space at `begin`; with `ends_at_newline`, \s*[\r\n]+ before them.
template <bool ends_at_newline, typename Reader>
size_t SpaceEnd(const Reader& reader, size_t begin) {
  size_t end = begin;
  size_t last_begin = begin;   // of the run's last character
  size_t newline_end = begin;  // behind the run's last CR or LF
  Character next = reader.At(begin);
  while (next.char_class == CharClass::kSpace || next.char_class == CharClass::kNewline) {
    last_begin = end;
    end = next.end;
    newline_end = next.char_class == CharClass::kNewline ? end : newline_end;
    next = reader.At(end);
  }
  if (ends_at_newline && newline_end > begin) {
    return newline_end;
  }
  // Before a word the last space is left to it, unless it is the only one.
  return next.char_class == CharClass::kEnd || last_begin == begin ? end : last_begin;
}

template <typename Reader>
size_t Gpt2WordEnd(const Reader& reader, size_t begin) {
  const size_t contraction_length = ContractionLength</*ignore_case=*/false>(reader, begin);
  if (contraction_length > 0) {
    return begin + contraction_length;
  }
  Character first = reader.At(begin);
  if (reader.ByteAt(begin) == ' ') {
    const Character second = reader.At(first.end);
    if (second.char_class <= CharClass::kNumber) {
      first = second;
    }
  }
  if (first.char_class <= CharClass::kNumber) {
    return reader.RunEnd(first.end, first.char_class);
  }
  return SpaceEnd</*ends_at_newline=*/false>(reader, begin);
}

template <int max_digits, typename Reader>
size_t Qwen2WordEnd(const Reader& reader, size_t begin) {
  const size_t contraction_length = ContractionLength</*ignore_case=*/true>(reader, begin);
  if (contraction_length > 0) {
    return begin + contraction_length;
  }
  const Character first = reader.At(begin);
  if (first.char_class == CharClass::kLetter) {
    return reader.RunEnd(first.end, CharClass::kLetter);
  }
  if (first.char_class == CharClass::kNumber) {
    size_t end = first.end;
    for (int i = 1; i < max_digits; ++i) {
      const Character next = reader.At(end);
      if (next.char_class != CharClass::kNumber) {
        break;
      }
      end = next.end;
    }
    return end;
  }
  const Character second = reader.At(first.end);
  if (first.char_class != CharClass::kNewline && second.char_class == CharClass::kLetter) {
    return reader.RunEnd(second.end, CharClass::kLetter);
  }
  const bool is_spaced = reader.ByteAt(begin) == ' ' && second.char_class == CharClass::kOther;
  if (first.char_class == CharClass::kOther || is_spaced) {
    const size_t end = reader.RunEnd(is_spaced ? second.end : first.end, CharClass::kOther);
    return reader.RunEnd(end, CharClass::kNewline);
  }
  return SpaceEnd</*ends_at_newline=*/true>(reader, begin);
}

}  // namespace

template <>
size_t FindWordEnd<PreTokenizerKind::kGpt2>(const CharClassTable& classes,
                                            std::string_view text,
                                            size_t begin) {
  return Gpt2WordEnd(ClassReader</*split_digits=*/false>(classes, text), begin);
}

template <>
size_t FindWordEnd<PreTokenizerKind::kSmolLm>(const CharClassTable& classes,
                                              std::string_view text,
                                              size_t begin) {
  const ClassReader</*split_digits=*/true> reader(classes, text);
  return reader.IsDigit(begin) ? reader.At(begin).end : Gpt2WordEnd(reader, begin);
}

template <>
size_t FindWordEnd<PreTokenizerKind::kQwen2>(const CharClassTable& classes,
                                             std::string_view text,
                                             size_t begin) {
  return Qwen2WordEnd</*max_digits=*/1>(ClassReader</*split_digits=*/false>(classes, text), begin);
}

template <>
size_t FindWordEnd<PreTokenizerKind::kLlama3>(const CharClassTable& classes,
                                              std::string_view text,
                                              size_t begin) {
  return Qwen2WordEnd</*max_digits=*/3>(ClassReader</*split_digits=*/false>(classes, text), begin);
}

}  // namespace whinchat
