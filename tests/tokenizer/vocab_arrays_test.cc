// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocab_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace whinchat {
namespace {

VocabArrays SmallArrays() {
  return {.tokens = {"<s>", "a", "b", "\u0120", "ab", "<user \u00E9>", "[PAD6]"},
          .token_type = {3, 1, 1, 1, 1, 4, 5},
          .merges = {"a b"},
          .model = "gpt2",
          .pre = "llama-bpe",
          .bos_token_id = 0};
}

void ExpectRefused(const VocabArrays& arrays, ErrorCode code, const std::string& part) {
  try {
    MakeTokenizerSpec(arrays);
    FAIL() << "no error was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.message(), testing::HasSubstr(part));
  }
}

TEST(VocabArrays, BecomeATokenizer) {
  const TokenizerSpec spec = MakeTokenizerSpec(SmallArrays());
  EXPECT_EQ(spec.pre_tokenizer, PreTokenizerKind::kLlama3);
  EXPECT_TRUE(spec.ignore_merges);
  EXPECT_TRUE(spec.add_bos);
  ASSERT_EQ(spec.added_tokens.size(), 2U);
  EXPECT_TRUE(spec.added_tokens[0].is_special);
  EXPECT_FALSE(spec.added_tokens[1].is_special);
  const Tokenizer tokenizer(spec);
  EXPECT_THAT(tokenizer.Encode("<s>ab a<user \u00E9>", {.add_special_tokens = true}),
              testing::ElementsAre(0, 0, 4, 3, 1, 5));
  EXPECT_EQ(tokenizer.TokenBytes(5), "<user \u00E9>");
  EXPECT_EQ(tokenizer.TokenBytes(3), " ");
}

TEST(VocabArrays, TheFileOverrulesTheModelsHabit) {
  VocabArrays arrays = SmallArrays();
  arrays.add_bos_token = false;
  EXPECT_FALSE(MakeTokenizerSpec(arrays).add_bos);
  arrays.pre = "qwen2";
  arrays.add_bos_token.reset();
  const TokenizerSpec spec = MakeTokenizerSpec(arrays);
  EXPECT_FALSE(spec.add_bos);
  EXPECT_TRUE(spec.normalize_nfc);
  EXPECT_FALSE(spec.ignore_merges);
}

TEST(VocabArrays, WhatIsUnknownOrContradictoryIsNamed) {
  VocabArrays arrays = SmallArrays();
  arrays.model = "llama";
  ExpectRefused(arrays, ErrorCode::kUnsupported, "tokenizer.ggml.model is 'llama'");
  arrays = SmallArrays();
  arrays.pre = "tekken";
  ExpectRefused(arrays, ErrorCode::kUnsupported, "tokenizer.ggml.pre is 'tekken'");
  arrays = SmallArrays();
  arrays.token_type.pop_back();
  ExpectRefused(arrays, ErrorCode::kCorruptFile, "token_type has 6 entries for 7 tokens");
  arrays = SmallArrays();
  arrays.bos_token_id = 7;
  ExpectRefused(arrays, ErrorCode::kCorruptFile, "bos_token_id is 7, but there are 7 tokens");
  for (const char* merge : {"ab", " b", "a ", ""}) {
    arrays = SmallArrays();
    arrays.merges = {merge};
    ExpectRefused(arrays, ErrorCode::kCorruptFile, "merges[0]");
  }
}

}  // namespace
}  // namespace whinchat
