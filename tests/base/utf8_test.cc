// SPDX-License-Identifier: Apache-2.0
// The expected replacements are those of Python's bytes.decode(errors="replace").
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {
namespace {

std::string EncodeOne(char32_t code_point) {
  std::string text;
  AppendUtf8(code_point, text);
  return text;
}

TEST(Utf8, EveryScalarValueSurvivesARoundTrip) {
  size_t num_code_points = 0;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) {
      continue;
    }
    const std::string text = EncodeOne(code_point);
    const Utf8Character character = DecodeUtf8Character(text);
    ASSERT_TRUE(character.is_valid) << static_cast<uint32_t>(code_point);
    ASSERT_EQ(character.code_point, code_point);
    ASSERT_EQ(static_cast<size_t>(character.num_bytes), text.size());
    ASSERT_TRUE(IsValidUtf8(text));
    ++num_code_points;
  }
  EXPECT_EQ(num_code_points, 0x110000U - 0x800U);
}

// A decoder by the definition alone, to hold against the fast one: the longest beginning that some
// character has is one part.
std::string ReplaceByDefinition(std::string_view bytes, const std::vector<std::string>& all) {
  std::string result;
  while (!bytes.empty()) {
    size_t part_length = 1;
    bool is_character = false;
    for (size_t length = 1; length <= 4 && length <= bytes.size(); ++length) {
      const std::string_view part = bytes.substr(0, length);
      const auto next = std::lower_bound(all.begin(), all.end(), part);
      if (next == all.end() || !next->starts_with(part)) {
        break;
      }
      part_length = length;
      is_character = *next == part;
    }
    result.append(is_character ? bytes.substr(0, part_length) : "\xEF\xBF\xBD");
    bytes.remove_prefix(part_length);
  }
  return result;
}

TEST(Utf8, EveryShortByteStringIsReplacedAsTheDefinitionSays) {
  std::vector<std::string> all;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point < 0xD800 || code_point > 0xDFFF) {
      all.push_back(EncodeOne(code_point));
    }
  }
  std::ranges::sort(all);
  // One byte of each kind, and the borders between kinds.
  const std::string kinds =
      "\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4"
      "\xF5\xFF";
  size_t num_strings = 0;
  for (size_t code = 0; code < kinds.size() * kinds.size() * kinds.size() * kinds.size(); ++code) {
    std::string text;
    for (size_t rest = code, i = 0; i < 4; ++i, rest /= kinds.size()) {
      text.push_back(kinds[rest % kinds.size()]);
    }
    const std::string expected = ReplaceByDefinition(text, all);
    ASSERT_EQ(ReplaceInvalidUtf8(text), expected) << testing::PrintToString(text);
    ASSERT_EQ(IsValidUtf8(text), text == expected);
    ++num_strings;
  }
  EXPECT_EQ(num_strings, 331776U);
}

TEST(Utf8, MaximalPartsAreReplacedAsPythonDoes) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xF0\x9F\x98z"), "a\uFFFDz");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE4\xB8"), "\uFFFD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE4\xE4\xB8\xAD"), "\uFFFD\u4E2D");
}

TEST(Utf8, AnInvalidByteBehindLongAsciiIsFound) {
  for (size_t length = 0; length < 40; ++length) {
    const std::string text = std::string(length, 'x') + "\x80" + std::string(9, 'y');
    EXPECT_EQ(ValidUtf8Length(text), length);
  }
}

TEST(Utf8, OnlyWhatCanStillBecomeACharacterIsACutSuffix) {
  EXPECT_EQ(CutUtf8SuffixLength(""), 0U);
  EXPECT_EQ(CutUtf8SuffixLength("abc"), 0U);
  EXPECT_EQ(CutUtf8SuffixLength("\u4E2D"), 0U);
  EXPECT_EQ(CutUtf8SuffixLength("a\xE4\xB8"), 2U);
  EXPECT_EQ(CutUtf8SuffixLength("a\xF0\x9F\x98"), 3U);
  EXPECT_EQ(CutUtf8SuffixLength("\xF0"), 1U);
  EXPECT_EQ(CutUtf8SuffixLength("\xED\xA0"), 0U);      // a surrogate: invalid whatever follows
  EXPECT_EQ(CutUtf8SuffixLength("\x80\x80\x80"), 0U);  // nothing begins here
  EXPECT_EQ(CutUtf8SuffixLength("\xC1"), 0U);
}

}  // namespace
}  // namespace whinchat
