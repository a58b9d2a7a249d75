// SPDX-License-Identifier: Apache-2.0
// Token ids equal those of Hugging Face `tokenizers` (python/golden/make_tokenizer_golden.py), by a
// hash of the ids of each string. The maker's --show N prints the reference's ids of string N.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/golden_files.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

constexpr EncodeOptions kAsText = {.add_special_tokens = true, .parse_special_tokens = false};

std::string Describe(size_t string_idx, const std::string& text, const std::vector<TokenId>& ids) {
  return "string " + std::to_string(string_idx) + ": " +
         testing::PrintToString(text.substr(0, 200)) + "\ngot " +
         testing::PrintToString(std::vector<TokenId>(
             ids.begin(),
             ids.begin() + std::min<ptrdiff_t>(60, static_cast<ptrdiff_t>(ids.size()))));
}

void ExpectGoldenStrings(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<std::string>& strings = golden::Strings();
  const golden::Hashes hashes = golden::ReadHashes(name + ".hashes");
  ASSERT_GE(strings.size(), 5000U);
  ASSERT_EQ(hashes.plain.size(), strings.size());
  size_t as_text_idx = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer.Encode(strings[i]);
    EXPECT_EQ(golden::HashIds(ids), hashes.plain[i]) << Describe(i, strings[i], ids);
    if (strings[i].find('<') == std::string::npos) {
      continue;
    }
    ASSERT_LT(as_text_idx, hashes.as_text.size());
    const std::vector<TokenId> text_ids = tokenizer.Encode(strings[i], kAsText);
    EXPECT_EQ(golden::HashIds(text_ids), hashes.as_text[as_text_idx++])
        << "as text, " << Describe(i, strings[i], text_ids);
  }
  EXPECT_EQ(as_text_idx, hashes.as_text.size());
  std::printf("golden strings compared: %zu (%s)\n", strings.size() + as_text_idx, name.c_str());
}

void ExpectGoldenDocuments(const Tokenizer& tokenizer,
                           const std::string& name,
                           const std::string& text) {
  const std::vector<std::string_view> documents = golden::CutDocuments(text);
  const golden::Hashes hashes = golden::ReadHashes(name + ".text.hashes");
  ASSERT_EQ(documents.size(), hashes.plain.size());
  ASSERT_GE(text.size(), 5'000'000U);
  size_t num_documents = 0;
  size_t num_bytes = 0;
  for (size_t i = 0; i < documents.size(); i += golden::kStride) {
    EXPECT_EQ(golden::HashIds(tokenizer.Encode(documents[i])), hashes.plain[i]) << "document " << i;
    ++num_documents;
    num_bytes += documents[i].size();
  }
  std::printf(
      "golden documents compared: %zu, %zu bytes (%s)\n", num_documents, num_bytes, name.c_str());
}

// Every code point beside a letter, a digit, a space, an apostrophe and an added token.
void ExpectGoldenCodePoints(const Tokenizer& tokenizer, const std::string& name) {
  constexpr char32_t kChunk = 1024;
  constexpr char32_t kStep = kChunk * golden::kStride;
  const golden::Hashes hashes = golden::ReadHashes(name + ".points.hashes");
  ASSERT_EQ(hashes.plain.size(), 0x110000U / kChunk);
  size_t num_code_points = 0;
  for (char32_t begin = 0; begin < 0x110000; begin += kStep) {
    std::string text;
    for (char32_t code_point = begin; code_point < begin + kChunk; ++code_point) {
      if (code_point >= 0xD800 && code_point < 0xE000) {
        continue;
      }
      std::string c;
      AppendUtf8(code_point, c);
      text += "a" + c + "b " + c + " 1" + c + "'" + c + "s[WORD]" + c + "\n";
      ++num_code_points;
    }
    EXPECT_EQ(golden::HashIds(tokenizer.Encode(text)), hashes.plain[begin / kChunk])
        << "code points from " << static_cast<uint32_t>(begin);
  }
  std::printf("golden code points compared: %zu (%s)\n", num_code_points, name.c_str());
}

class SmallTokenizer : public testing::TestWithParam<std::string> {};

TEST_P(SmallTokenizer, GivesTheReferencesIdsOnEveryString) {
  ExpectGoldenStrings(golden::LoadSmallTokenizer(GetParam()), GetParam());
}

TEST_P(SmallTokenizer, GivesTheReferencesIdsOnRealText) {
  const auto path = golden::TestModelPath("text/django.txt");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is missing: run tools/fetch_test_models.py";
  }
  ExpectGoldenDocuments(golden::LoadSmallTokenizer(GetParam()), GetParam(), golden::ReadFile(path));
}

INSTANTIATE_TEST_SUITE_P(Tokenizer,
                         SmallTokenizer,
                         testing::Values("qwen2", "llama3", "gpt2", "gpt2_unk", "smollm"),
                         [](const auto& parameter) { return parameter.param; });

class EveryCodePoint : public testing::TestWithParam<std::string> {};

TEST_P(EveryCodePoint, IsCutAndNormalizedAsTheReferenceDoes) {
  ExpectGoldenCodePoints(golden::LoadSmallTokenizer(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Tokenizer,
                         EveryCodePoint,
                         testing::Values("qwen2", "gpt2", "smollm"),
                         [](const auto& parameter) { return parameter.param; });

TEST(TokenizerQwen3, GivesTheReferencesIdsOnEveryStringAndOnRealText) {
  const std::optional<Tokenizer> tokenizer = golden::LoadQwen3();
  if (!tokenizer) {
    GTEST_SKIP() << "Qwen3's tokenizer.json is missing: run tools/fetch_test_models.py";
  }
  ExpectGoldenStrings(*tokenizer, "qwen3");
  ExpectGoldenDocuments(
      *tokenizer, "qwen3", golden::ReadFile(golden::TestModelPath("text/django.txt")));
}

TEST(TokenizerSmolLm2, GivesTheReferencesIdsOnEveryStringAndOnRealText) {
  const std::optional<Tokenizer> tokenizer = golden::LoadSmolLm2();
  if (!tokenizer) {
    GTEST_SKIP() << "SmolLM2's GGUF is missing: run tools/fetch_test_models.py";
  }
  ExpectGoldenStrings(*tokenizer, "smollm2");
  ExpectGoldenDocuments(
      *tokenizer, "smollm2", golden::ReadFile(golden::TestModelPath("text/django.txt")));
}

TEST(TokenizerQwen3, KnowsItsChatTokens) {
  const std::optional<Tokenizer> tokenizer = golden::LoadQwen3();
  if (!tokenizer) {
    GTEST_SKIP() << "Qwen3's tokenizer.json is missing: run tools/fetch_test_models.py";
  }
  EXPECT_EQ(tokenizer->vocab_size(), 151669);
  EXPECT_EQ(tokenizer->FindToken("<|im_end|>"), 151645);
  EXPECT_TRUE(tokenizer->IsSpecial(151645));
  EXPECT_FALSE(tokenizer->IsSpecial(*tokenizer->FindToken("<think>")));
  EXPECT_THAT(tokenizer->Encode("<|im_start|>user\n\u4F60\u662F\u8C01<|im_end|>\n"),
              testing::ElementsAre(151644, 872, 198, 105043, 100165, 151645, 198));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{151644, 872, 198, 105043, 100165, 151645},
                              /*skip_special_tokens=*/true),
            "user\n\u4F60\u662F\u8C01");
}

}  // namespace
}  // namespace whinchat
