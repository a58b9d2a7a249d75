// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/golden_files.h"

namespace whinchat {
namespace {

// Ids 0 to 255 are the bytes; 256 is a special token.
Tokenizer ByteTokenizer() {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    spec.vocab.emplace_back(1, static_cast<char>(byte));
  }
  spec.vocab.emplace_back("\xAD\x21\xE4");  // the end of one character and the start of the next
  spec.added_tokens = {{.content = "<end>", .id = 257, .is_special = true}};
  return Tokenizer(std::move(spec));
}

std::string StreamAll(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  StreamingDetokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId id : ids) {
    const std::string piece = detokenizer.Append(id);
    EXPECT_TRUE(IsValidUtf8(piece));
    text += piece;
  }
  return text + detokenizer.Flush();
}

TEST(StreamingDetokenizer, HoldsACharacterUntilItIsWhole) {
  const Tokenizer tokenizer = ByteTokenizer();
  StreamingDetokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.Append(0xE4), "");
  EXPECT_EQ(detokenizer.Append(0xB8), "");
  EXPECT_EQ(detokenizer.Append(256), "\u4E2D!");
  EXPECT_EQ(detokenizer.Append(257), "");  // special: skipped, and holds nothing up
  EXPECT_EQ(detokenizer.Append(0xB8), "");
  EXPECT_EQ(detokenizer.Append(0xAD), "\u4E2D");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(StreamingDetokenizer, GivesInvalidBytesUpAsSoonAsTheyAre) {
  const Tokenizer tokenizer = ByteTokenizer();
  StreamingDetokenizer detokenizer(tokenizer, /*skip_special_tokens=*/false);
  EXPECT_EQ(detokenizer.Append(0xFF), "\uFFFD");
  EXPECT_EQ(detokenizer.Append(0xF0), "");
  EXPECT_EQ(detokenizer.Append(0x9F), "");
  EXPECT_EQ(detokenizer.Append('a'), "\uFFFDa");
  EXPECT_EQ(detokenizer.Append(0xED), "");
  EXPECT_EQ(detokenizer.Append(0xA0), "\uFFFD\uFFFD");  // a surrogate can't follow
  EXPECT_EQ(detokenizer.Append(0xC3), "");
  EXPECT_EQ(detokenizer.Append(257), "\uFFFD<end>");
  EXPECT_EQ(detokenizer.Append(0xE4), "");
  EXPECT_EQ(detokenizer.Flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(StreamingDetokenizer, PiecesJoinToTheLossyDecodeOfTheWhole) {
  const Tokenizer tokenizer = ByteTokenizer();
  const std::string likely = "\x41\x80\x9F\xA0\xBF\xC2\xE0\xE4\xED\xF0\xF4\xFF";
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<TokenId> ids(random() % 24);
    for (TokenId& id : ids) {
      id = random() % 8 == 0 ? static_cast<TokenId>(random() % 258)
                             : static_cast<uint8_t>(likely[random() % likely.size()]);
    }
    ASSERT_EQ(StreamAll(tokenizer, ids),
              ReplaceInvalidUtf8(tokenizer.Decode(ids, /*skip_special_tokens=*/true)))
        << testing::PrintToString(ids);
  }
}

TEST(StreamingDetokenizer, GivesBackTheGoldenStrings) {
  const Tokenizer tokenizer = golden::LoadSmallTokenizer("llama3");
  size_t num_strings = 0;
  for (const std::string& text : golden::Strings()) {
    const std::vector<TokenId> ids = tokenizer.Encode(text, {.parse_special_tokens = false});
    ASSERT_EQ(StreamAll(tokenizer, ids), ReplaceInvalidUtf8(text));
    ++num_strings;
  }
  EXPECT_GE(num_strings, 5000U);
}

}  // namespace
}  // namespace whinchat
