// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"

namespace whinchat {
namespace {

// What a lead byte promises: the sequence's length and the bounds of its second byte, which alone
// exclude overlong forms, surrogates and code points over 0x10FFFF (Unicode 3.9, table 3-7).
struct LeadByte {
  int num_bytes = 0;  // 0: not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

LeadByte ClassifyLeadByte(uint8_t byte) {
  if (byte < 0x80) {
    return {.num_bytes = 1};
  }
  if (byte < 0xC2 || byte > 0xF4) {
    return {};
  }
  if (byte < 0xE0) {
    return {.num_bytes = 2};
  }
  if (byte < 0xF0) {
    return {.num_bytes = 3,
            .second_min = static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            .second_max = static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  return {.num_bytes = 4,
          .second_min = static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
          .second_max = static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
}

size_t AsciiLength(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & kHighBits) != 0) {
      break;
    }
  }
  while (i < text.size() && static_cast<uint8_t>(text[i]) < 0x80) {
    ++i;
  }
  return i;
}

// The length of a run of three-byte characters whose lead byte leaves the second one free: most
// text in scripts without an alphabet. 0xE0 and 0xED do not.
size_t PlainThreeByteLength(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t i = 0;
  while (i + 3 <= text.size() && byte(i) > 0xE0 && byte(i) < 0xF0 && byte(i) != 0xED &&
         (byte(i + 1) & 0xC0) == 0x80 && (byte(i + 2) & 0xC0) == 0x80) {
    i += 3;
  }
  return i;
}

}  // namespace

Utf8Character DecodeUtf8Character(std::string_view text) {
  WHINCHAT_DCHECK(!text.empty());
  const auto first = static_cast<uint8_t>(text[0]);
  const LeadByte lead = ClassifyLeadByte(first);
  if (lead.num_bytes <= 1) {
    return {.code_point = lead.num_bytes == 1 ? first : kReplacementCharacter,
            .num_bytes = 1,
            .is_valid = lead.num_bytes == 1};
  }
  constexpr uint32_t kLeadMask[] = {0, 0, 0x1F, 0x0F, 0x07};
  uint32_t code_point = first & kLeadMask[lead.num_bytes];
  for (int i = 1; i < lead.num_bytes; ++i) {
    if (static_cast<size_t>(i) == text.size()) {
      return {.num_bytes = i, .is_cut = true};
    }
    const auto byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) {
      return {.num_bytes = i};
    }
    code_point = (code_point << 6) | (byte & 0x3FU);
  }
  return {.code_point = code_point, .num_bytes = lead.num_bytes, .is_valid = true};
}

size_t ValidUtf8Length(std::string_view text) {
  size_t i = 0;
  while (true) {
    i += AsciiLength(text.substr(i));
    i += PlainThreeByteLength(text.substr(i));
    if (i == text.size()) {
      return i;
    }
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      continue;
    }
    const Utf8Character character = DecodeUtf8Character(text.substr(i));
    if (!character.is_valid) {
      return i;
    }
    i += static_cast<size_t>(character.num_bytes);
  }
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (true) {
    const size_t valid_length = ValidUtf8Length(text);
    result.append(text.substr(0, valid_length));
    text.remove_prefix(valid_length);
    if (text.empty()) {
      return result;
    }
    AppendUtf8(kReplacementCharacter, result);
    text.remove_prefix(static_cast<size_t>(DecodeUtf8Character(text).num_bytes));
  }
}

void AppendUtf8(char32_t code_point, std::string& text) {
  WHINCHAT_CHECK(code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF));
  const auto append = [&text](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xC0 | (code_point >> 6));
    append(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    append(0xE0 | (code_point >> 12));
    append(0x80 | ((code_point >> 6) & 0x3F));
    append(0x80 | (code_point & 0x3F));
  } else {
    append(0xF0 | (code_point >> 18));
    append(0x80 | ((code_point >> 12) & 0x3F));
    append(0x80 | ((code_point >> 6) & 0x3F));
    append(0x80 | (code_point & 0x3F));
  }
}

size_t CutUtf8SuffixLength(std::string_view text) {
  const size_t max_length = std::min<size_t>(3, text.size());
  for (size_t length = 1; length <= max_length; ++length) {
    const std::string_view suffix = text.substr(text.size() - length);
    if ((static_cast<uint8_t>(suffix[0]) & 0xC0) == 0x80) {
      continue;
    }
    const Utf8Character character = DecodeUtf8Character(suffix);
    return character.is_cut && static_cast<size_t>(character.num_bytes) == length ? length : 0;
  }
  return 0;
}

}  // namespace whinchat
