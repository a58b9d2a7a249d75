// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/char_pair_filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace whinchat {
namespace {

bool IsContinuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

bool IsWhole(std::string_view character) {
  return !IsContinuation(character[0]) &&
         character.size() == Utf8SequenceLength(static_cast<uint8_t>(character[0]));
}

}  // namespace

void CharPairFilter::AddToken(std::string_view token) {
  const auto end_of = [token](size_t begin) {
    size_t end = begin + 1;
    while (end < token.size() && IsContinuation(token[end])) {
      ++end;
    }
    return end;
  };
  size_t left_begin = 0;
  for (size_t begin = end_of(0); begin < token.size();) {
    const std::string_view left = token.substr(left_begin, begin - left_begin);
    const size_t end = end_of(begin);
    const std::string_view right = token.substr(begin, end - begin);
    if (!IsWhole(left) && !IsWhole(right)) {
      is_cut_on_both_sides_[static_cast<uint8_t>(right[0])] = true;
    } else {
      Add(IsWhole(left) ? PackCharacter(left) : 0, IsWhole(right) ? PackCharacter(right) : 0);
    }
    left_begin = begin;
    begin = end;
  }
}

size_t CharPairFilter::FindCut(std::string_view word, size_t begin) const {
  size_t pos = begin + Utf8SequenceLength(static_cast<uint8_t>(word[begin]));
  uint32_t left = PackCharacter(word.substr(begin, pos - begin));
  while (pos < word.size()) {
    const size_t end = pos + Utf8SequenceLength(static_cast<uint8_t>(word[pos]));
    const uint32_t right = PackCharacter(word.substr(pos, end - pos));
    if (!MaySpan(left, right)) {
      return pos;
    }
    left = right;
    pos = end;
  }
  return std::min(pos, word.size());
}

}  // namespace whinchat
