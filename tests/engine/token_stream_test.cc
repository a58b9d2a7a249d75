// SPDX-License-Identifier: Apache-2.0
#include "engine/token_stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace whinchat {
namespace {

TokenOutput Token(TokenId token_id, FinishReason finish_reason = FinishReason::kNone) {
  TokenOutput output;
  output.has_token = true;
  output.token.token_id = token_id;
  output.finish_reason = finish_reason;
  return output;
}

TEST(TokenStream, GivesOutputsInOrderThenNothing) {
  TokenStream stream;
  EXPECT_FALSE(stream.TryPop());
  stream.Push(Token(1));
  stream.Push(Token(2, FinishReason::kLength));
  EXPECT_EQ(stream.Pop()->token.token_id, 1);
  EXPECT_EQ(stream.TryPop()->token.token_id, 2);
  EXPECT_FALSE(stream.Pop());
  EXPECT_FALSE(stream.TryPop());
}

TEST(TokenStream, PopWaitsForAnotherThread) {
  constexpr TokenId kNumTokens = 2000;
  TokenStream stream;
  std::thread writer([&] {
    for (TokenId i = 0; i < kNumTokens; ++i) {
      stream.Push(Token(i));
    }
    stream.Push(Token(kNumTokens, FinishReason::kStop));
  });
  TokenId expected = 0;
  while (const auto output = stream.Pop()) {
    ASSERT_EQ(output->token.token_id, expected++);
  }
  EXPECT_EQ(expected, kNumTokens + 1);
  writer.join();
}

TEST(TokenStream, WakeRunsAfterEachPushAndMayPop) {
  TokenStream stream;
  std::vector<TokenId> popped;
  stream.SetWake([&] { popped.push_back(stream.TryPop()->token.token_id); });
  stream.Push(Token(4));
  stream.Push(Token(5));
  EXPECT_EQ(popped, (std::vector<TokenId>{4, 5}));
}

TEST(TokenStream, SetWakeRunsAtOnceIfOutputsWait) {
  TokenStream stream;
  int num_wakes = 0;
  stream.SetWake([&] { ++num_wakes; });
  EXPECT_EQ(num_wakes, 0);
  stream.Push(Token(1));
  stream.SetWake({});
  stream.Push(Token(2));
  EXPECT_EQ(num_wakes, 1);
  stream.SetWake([&] { num_wakes += 10; });
  EXPECT_EQ(num_wakes, 11);
}

TEST(TokenStream, AReplacedWakeNeverRunsAfterSetWakeReturns) {
  for (int round = 0; round < 200; ++round) {
    TokenStream stream;
    auto alive = std::make_unique<std::atomic<bool>>(true);  // freed at once: seen by sanitizers
    stream.SetWake([raw = alive.get()] { EXPECT_TRUE(raw->load()); });
    std::thread writer([&] {
      for (TokenId i = 0; i < 20; ++i) {
        stream.Push(Token(i));
      }
    });
    stream.SetWake({});
    alive->store(false);
    alive.reset();
    writer.join();
  }
}

TEST(TokenStream, CancelIsSeenByTheEngine) {
  TokenStream stream;
  EXPECT_FALSE(stream.is_cancelled());
  std::thread([&] { stream.Cancel(); }).join();
  EXPECT_TRUE(stream.is_cancelled());
}

}  // namespace
}  // namespace whinchat
