// SPDX-License-Identifier: Apache-2.0
// The words as the reference's pre_tokenize_str gives them; the goldens compare far more, this
// shows which rule does what.
#include "tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/golden_files.h"

namespace whinchat {
namespace {

using testing::ElementsAre;

template <PreTokenizerKind kind>
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = FindWordEnd<kind>(CharClassTable::Get(), text, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

constexpr auto Gpt2 = Words<PreTokenizerKind::kGpt2>;
constexpr auto Qwen2 = Words<PreTokenizerKind::kQwen2>;
constexpr auto Llama3 = Words<PreTokenizerKind::kLlama3>;
constexpr auto SmolLm = Words<PreTokenizerKind::kSmolLm>;

TEST(PreTokenizer, AWordTakesTheSpaceBeforeIt) {
  EXPECT_THAT(Gpt2("Hello  new world 12 !?"),
              ElementsAre("Hello", " ", " new", " world", " 12", " !?"));
  EXPECT_THAT(Qwen2("Hello  new world !?"), ElementsAre("Hello", " ", " new", " world", " !?"));
}

TEST(PreTokenizer, OnlyQwenAndLlamaGiveOtherCharactersToAWord) {
  EXPECT_THAT(Gpt2("(a\tb\u00A0c"), ElementsAre("(", "a", "\t", "b", "\u00A0", "c"));
  EXPECT_THAT(Qwen2("(a\tb\u00A0c"), ElementsAre("(a", "\tb", "\u00A0c"));
  EXPECT_THAT(Llama3("\na\rb"), ElementsAre("\n", "a", "\r", "b"));
}

TEST(PreTokenizer, ContractionsFoldCaseOnlyInQwenAndLlama) {
  EXPECT_THAT(Gpt2("I'll IT'S"), ElementsAre("I", "'ll", " IT", "'", "S"));
  EXPECT_THAT(Qwen2("I'LL IT'S he'\u017Fx"),
              ElementsAre("I", "'LL", " IT", "'S", " he", "'\u017F", "x"));
  EXPECT_THAT(Llama3("'r 're 'l"), ElementsAre("'r", " '", "re", " '", "l"));
}

TEST(PreTokenizer, NumbersAreCutAsEachModelDoes) {
  EXPECT_THAT(Gpt2("a 12345"), ElementsAre("a", " 12345"));
  EXPECT_THAT(Qwen2("a 123"), ElementsAre("a", " ", "1", "2", "3"));
  EXPECT_THAT(Llama3("a 12345\u00BD"), ElementsAre("a", " ", "123", "45\u00BD"));
  EXPECT_THAT(SmolLm("a  12\u0663b"), ElementsAre("a", "  ", "1", "2", "\u0663", "b"));
}

TEST(PreTokenizer, SpaceBeforeAWordLeavesItTheLastOne) {
  EXPECT_THAT(Gpt2("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(Gpt2("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(Gpt2("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(Qwen2("a   1"), ElementsAre("a", "  ", " ", "1"));
}

TEST(PreTokenizer, QwenEndsSpaceAtTheLastLineEnd) {
  EXPECT_THAT(Qwen2("a \r\n \n  b"), ElementsAre("a", " \r\n \n", " ", " b"));
  EXPECT_THAT(Qwen2("x;\r\n\r\n  y"), ElementsAre("x", ";\r\n\r\n", " ", " y"));
  EXPECT_THAT(Gpt2("x;\n y"), ElementsAre("x", ";", "\n", " y"));
}

TEST(PreTokenizer, MarksAreNoLetters) {
  EXPECT_THAT(Qwen2("e\u0301a"), ElementsAre("e", "\u0301a"));
  EXPECT_THAT(Gpt2("e\u0301a"), ElementsAre("e", "\u0301", "a"));
}

TEST(PreTokenizer, EveryKindCoversEveryStringWithoutAnEmptyWord) {
  for (const std::string& text : golden::Strings()) {
    const std::string valid = ReplaceInvalidUtf8(text);
    for (const auto& words : {Gpt2(valid), Qwen2(valid), Llama3(valid), SmolLm(valid)}) {
      size_t num_bytes = 0;
      for (const std::string& word : words) {
        ASSERT_FALSE(word.empty());
        ASSERT_TRUE(IsValidUtf8(word));
        num_bytes += word.size();
      }
      ASSERT_EQ(num_bytes, valid.size());
    }
  }
}

}  // namespace
}  // namespace whinchat
