// SPDX-License-Identifier: Apache-2.0
// What the goldens can't show: round trips, limits, errors and time.
#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/golden_files.h"

namespace whinchat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Tokens a, b, c, ab, abc; merges a+b, ab+c; "bc" is in the vocabulary but out of reach.
TokenizerSpec SmallSpec() {
  return {.vocab = {"a", "b", "c", "ab", "abc", "bc", " "}, .merges = {{"a", "b"}, {"ab", "c"}}};
}

template <typename Function>
Error ExpectError(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ErrorCode::kInternal, ""};
}

TEST(Tokenizer, MergesTheLowestRankFirst) {
  const Tokenizer tokenizer(SmallSpec());
  EXPECT_THAT(tokenizer.Encode("abc"), ElementsAre(4));
  EXPECT_THAT(tokenizer.Encode("abcab"), ElementsAre(4, 3));
  EXPECT_THAT(tokenizer.Encode("ba"), ElementsAre(1, 0));
  EXPECT_THAT(tokenizer.Encode(""), IsEmpty());
}

TEST(Tokenizer, ATokenOutOfReachOfItsMergesNeedsIgnoreMerges) {
  TokenizerSpec spec = SmallSpec();
  EXPECT_THAT(Tokenizer(spec).Encode("bc"), ElementsAre(1, 2));
  spec.ignore_merges = true;
  EXPECT_THAT(Tokenizer(spec).Encode("bc"), ElementsAre(5));
}

TEST(Tokenizer, BytesThatAreNoTokenVanishOrBecomeUnk) {
  TokenizerSpec spec = SmallSpec();
  EXPECT_THAT(Tokenizer(spec).Encode("axyb"), ElementsAre(3));
  spec.unk_token_id = 2;
  EXPECT_THAT(Tokenizer(spec).Encode("axyb"), ElementsAre(0, 2, 2, 1));
  spec.fuse_unk = true;
  EXPECT_THAT(Tokenizer(spec).Encode("axyb"), ElementsAre(0, 2, 1));
}

TEST(Tokenizer, AddsBosAndEosOnlyWhenAsked) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens = {{.content = "<s>", .id = 7, .is_special = true}};
  spec.bos_token_id = 7;
  spec.eos_token_id = 6;
  spec.add_bos = true;
  const Tokenizer tokenizer(spec);
  EXPECT_THAT(tokenizer.Encode("ab"), ElementsAre(3));
  EXPECT_THAT(tokenizer.Encode("ab", {.add_special_tokens = true}), ElementsAre(7, 3));
  EXPECT_EQ(tokenizer.bos_token_id(), 7);
  EXPECT_EQ(tokenizer.eos_token_id(), 6);
  spec.add_eos = true;
  EXPECT_THAT(Tokenizer(spec).Encode("ab", {.add_special_tokens = true}), ElementsAre(7, 3, 6));
}

TEST(Tokenizer, SpecialTokensInTextStayTextWhenNotParsed) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens = {{.content = "ab", .id = 7, .is_special = true},
                       {.content = "ca", .id = 8, .is_special = false}};
  const Tokenizer tokenizer(spec);
  EXPECT_THAT(tokenizer.Encode("abca"), ElementsAre(7, 8));
  EXPECT_THAT(tokenizer.Encode("abca", {.parse_special_tokens = false}), ElementsAre(3, 8));
}

TEST(Tokenizer, DecodesToRawBytesAndSkipsWhatItDoesNotKnow) {
  TokenizerSpec spec = SmallSpec();
  spec.vocab.push_back("\xE4\xB8");
  spec.vocab.push_back("");
  spec.added_tokens = {{.content = "<s>", .id = 9, .is_special = true}};
  const Tokenizer tokenizer(spec);
  const std::vector<TokenId> ids = {9, 4, 7, 8, -1, 1000, std::numeric_limits<TokenId>::max()};
  EXPECT_EQ(tokenizer.Decode(ids), "<s>abc\xE4\xB8");
  EXPECT_EQ(tokenizer.Decode(ids, /*skip_special_tokens=*/true), "abc\xE4\xB8");
  EXPECT_EQ(tokenizer.TokenBytes(-1), "");
  EXPECT_FALSE(tokenizer.IsSpecial(-1));
  EXPECT_TRUE(tokenizer.IsSpecial(9));
  EXPECT_EQ(tokenizer.vocab_size(), 10);
  EXPECT_EQ(tokenizer.FindToken("abc"), 4);
  EXPECT_EQ(tokenizer.FindToken("<s>"), 9);
  EXPECT_EQ(tokenizer.FindToken("zzz"), std::nullopt);
  EXPECT_EQ(tokenizer.FindToken(""), std::nullopt);
}

TEST(Tokenizer, GivesBackEveryStringWithInvalidPartsReplaced) {
  const Tokenizer tokenizer = golden::LoadSmallTokenizer("llama3");  // every byte, no NFC
  for (const std::string& text : golden::Strings()) {
    ASSERT_EQ(tokenizer.Decode(tokenizer.Encode(text)), ReplaceInvalidUtf8(text));
  }
}

TEST(Tokenizer, AMillionEqualCharactersAreNoTrap) {
  const Tokenizer tokenizer = golden::LoadSmallTokenizer("qwen2");
  for (const std::string unit : {"a", " ", "\n", "\u4E2D", "ab", "e\u0301", "<", "\u0301"}) {
    const auto seconds_for = [&](size_t num_bytes) {
      std::string text;
      while (text.size() < num_bytes) {
        text.append(unit);
      }
      double best = std::numeric_limits<double>::max();
      for (int i = 0; i < 2; ++i) {
        const std::clock_t start = std::clock();  // of the processor: others' work does not count
        EXPECT_FALSE(tokenizer.Encode(text).empty());
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      }
      return best;
    };
    // 16 times the text: n log n and cache misses give 20 to 40 times the time, a square 256 times.
    const double small = seconds_for(62'500) + 1e-3;
    EXPECT_LT(seconds_for(1'000'000), 128 * small) << testing::PrintToString(unit);
  }
}

TEST(Tokenizer, ManyThreadsEncodeAtOnce) {
  const Tokenizer tokenizer = golden::LoadSmallTokenizer("qwen2");
  const golden::Hashes hashes = golden::ReadHashes("qwen2.hashes");
  std::vector<std::thread> threads;
  std::vector<int> num_wrong(4);
  for (int& wrong : num_wrong) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 2000; ++i) {
        wrong += golden::HashIds(tokenizer.Encode(golden::Strings()[i])) != hashes.plain[i] ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(num_wrong, testing::Each(0));
}

TEST(Tokenizer, AMergeOfWhatIsNoTokenIsNamed) {
  TokenizerSpec spec = SmallSpec();
  spec.merges.emplace_back("b", "a");
  const Error error = ExpectError([&] { Tokenizer{spec}; });
  EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(error.message(), HasSubstr("merge 2 ('b' + 'a') names 'ba'"));
}

TEST(Tokenizer, AnAddedTokenThatIsNoUtf8IsRefused) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens = {{.content = "\xB8\xAD", .id = 7}};
  const Error error = ExpectError([&] { Tokenizer{spec}; });
  EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(error.message(), HasSubstr("added token 7 is not valid UTF-8"));
}

TEST(Tokenizer, AWildIdIsRefusedBeforeItTakesMemory) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens = {{.content = "<s>", .id = std::numeric_limits<TokenId>::max()}};
  EXPECT_EQ(ExpectError([&] { Tokenizer{spec}; }).code(), ErrorCode::kCorruptFile);
  spec.added_tokens[0].id = -1;
  EXPECT_EQ(ExpectError([&] { Tokenizer{spec}; }).code(), ErrorCode::kCorruptFile);
  spec.added_tokens.clear();
  spec.bos_token_id = 99;
  EXPECT_THAT(ExpectError([&] { Tokenizer{spec}; }).message(), HasSubstr("bos_token_id is 99"));
}

}  // namespace
}  // namespace whinchat
