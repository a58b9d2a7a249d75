// SPDX-License-Identifier: Apache-2.0
#include "engine/suffix_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace whinchat {
namespace {

struct Match {
  int length = 0;
  std::set<int> ends;  // all places before the end where the suffix of that length ends too
};

// Looks at every earlier place.
Match LongestRepeatedSuffix(std::span<const TokenId> tokens) {
  Match match;
  const size_t size = tokens.size();
  for (size_t end = 1; end < size; ++end) {
    size_t length = 0;
    while (length < end && tokens[end - 1 - length] == tokens[size - 1 - length]) {
      ++length;
    }
    const int found = static_cast<int>(length);
    if (found > match.length) {
      match = {found, {}};
    }
    if (found == match.length && found > 0) {
      match.ends.insert(static_cast<int>(end));
    }
  }
  return match;
}

void ExpectMatchesBruteForce(const std::vector<TokenId>& tokens) {
  SuffixAutomaton automaton;
  for (size_t i = 0; i < tokens.size(); ++i) {
    automaton.Append(tokens[i]);
    const Match expected = LongestRepeatedSuffix(std::span(tokens).first(i + 1));
    ASSERT_EQ(automaton.num_tokens(), static_cast<int>(i) + 1);
    ASSERT_EQ(automaton.match_length(), expected.length) << "after " << i + 1 << " tokens";
    if (expected.length > 0) {
      ASSERT_TRUE(expected.ends.contains(automaton.match_end())) << "after " << i + 1 << " tokens";
    }
  }
}

std::vector<TokenId> RandomTokens(std::mt19937& random, size_t count, uint32_t num_kinds) {
  std::vector<TokenId> tokens(count);
  std::ranges::generate(tokens, [&] { return static_cast<TokenId>(random() % num_kinds); });
  return tokens;
}

// Pieces of itself between fresh tokens, as an answer that quotes its prompt.
std::vector<TokenId> QuotingTokens(std::mt19937& random, size_t count) {
  std::vector<TokenId> tokens = RandomTokens(random, count / 3, 150'000);
  while (tokens.size() < count) {
    const size_t begin = random() % tokens.size();
    const size_t length = std::min<size_t>(1 + random() % 40, tokens.size() - begin);
    for (size_t i = 0; i < length; ++i) {
      tokens.push_back(tokens[begin + i]);
    }
    tokens.push_back(static_cast<TokenId>(random() % 150'000));
  }
  tokens.resize(count);
  return tokens;
}

TEST(SuffixAutomaton, FindsTheLongestRepeatedSuffixOfRandomTokens) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    constexpr uint32_t kKinds[] = {1, 2, 3, 5, 30, 200};
    ExpectMatchesBruteForce(RandomTokens(random, 1 + random() % 250, kKinds[seed % 6]));
    ExpectMatchesBruteForce(QuotingTokens(random, 250));
  }
}

TEST(SuffixAutomaton, FindsTheLongestRepeatedSuffixOfPeriodicTokens) {
  for (const int period : {1, 2, 3, 7}) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 120; ++i) {
      tokens.push_back(i % 50 == 49 ? 99 : i % period);
    }
    ExpectMatchesBruteForce(tokens);
  }
}

TEST(SuffixAutomaton, APlaceThatWasTheLongestMatchLatelyIsPreferred) {
  SuffixAutomaton automaton;
  for (const TokenId token : {1, 2, 3, 10, 1, 2, 3, 20, 1, 2, 3}) {
    automaton.Append(token);
  }
  EXPECT_EQ(automaton.match_length(), 3);
  EXPECT_EQ(automaton.match_end(), 7);  // before 20, not before 10
}

std::vector<TokenId> ProposeAfter(const std::vector<TokenId>& tokens, int max_tokens) {
  SuffixAutomaton automaton;
  for (const TokenId token : tokens) {
    automaton.Append(token);
  }
  return automaton.ProposeNext(tokens, max_tokens);
}

TEST(SuffixAutomaton, ProposesWhatFollowedTheMatch) {
  const std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6, 9, 2, 3};
  EXPECT_EQ(ProposeAfter(tokens, 3), (std::vector<TokenId>{4, 5, 6}));
  EXPECT_EQ(ProposeAfter(tokens, 1), (std::vector<TokenId>{4}));
  EXPECT_EQ(ProposeAfter(tokens, 0), std::vector<TokenId>{});
  EXPECT_EQ(ProposeAfter({1, 2, 3}, 3), std::vector<TokenId>{});
  EXPECT_EQ(ProposeAfter({}, 3), std::vector<TokenId>{});
}

TEST(SuffixAutomaton, AProposalPastTheEndRepeatsItself) {
  EXPECT_EQ(ProposeAfter({8, 1, 2, 3, 1, 2}, 8), (std::vector<TokenId>{3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(ProposeAfter({7, 7}, 3), (std::vector<TokenId>{7, 7, 7}));
}

TEST(SuffixAutomaton, TokenIdsOfAnySizeAreToldApart) {
  ExpectMatchesBruteForce({0, 2147483647, 0, 2147483646, 0, 2147483647, 0, 65536, 0, 2147483646});
}

// Theory's bounds, and with them the memory, on the strings that reach them and on text-like ones.
TEST(SuffixAutomaton, MemoryIsBoundedByTheNumberOfTokens) {
  constexpr int kNumTokens = 20'000;
  constexpr size_t kConstantBytes = 4096;
  std::mt19937 random(1);
  std::vector<TokenId> many_states(kNumTokens, 1);  // a b b b ...
  many_states.front() = 0;
  std::vector<TokenId> many_edges = many_states;  // a b b ... b c
  many_edges.back() = 2;
  for (const auto& tokens : {many_states,
                             many_edges,
                             RandomTokens(random, kNumTokens, 2),
                             RandomTokens(random, kNumTokens, 150'000),
                             QuotingTokens(random, kNumTokens)}) {
    SuffixAutomaton automaton;
    for (const TokenId token : tokens) {
      automaton.Append(token);
      const auto count = static_cast<size_t>(automaton.num_tokens());
      ASSERT_LE(automaton.num_states(), 2 * automaton.num_tokens() + 1);
      ASSERT_LE(automaton.num_edges(), 3 * automaton.num_tokens());
      ASSERT_LE(automaton.MemoryBytes(),
                count * SuffixAutomaton::kMaxBytesPerToken + kConstantBytes);
    }
  }
  SuffixAutomaton worst;
  for (const TokenId token : many_states) {
    worst.Append(token);
  }
  EXPECT_GE(worst.num_states(), 2 * kNumTokens - 2);  // else the bounds above were not tried
}

}  // namespace
}  // namespace whinchat
