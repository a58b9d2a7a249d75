// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace whinchat {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

SamplingParams Greedy() {
  SamplingParams params;
  params.temperature = 0.0F;
  return params;
}

SamplingParams Random(uint64_t seed) {
  SamplingParams params;
  params.seed = seed;
  return params;
}

std::vector<float> NormalLogits(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(size);
  std::ranges::generate(logits, [&] { return normal(random); });
  return logits;
}

std::vector<TokenId> SampleMany(const SamplingParams& params,
                                const std::vector<float>& logits,
                                int num_tokens) {
  Sampler sampler(params, {});
  std::vector<TokenId> tokens;
  for (int position = 0; position < num_tokens; ++position) {
    tokens.push_back(sampler.Sample(logits, position).token_id);
  }
  return tokens;
}

TEST(Sampler, GreedyTakesTheGreatestAndTheLowestIdAmongEquals) {
  Sampler sampler(Greedy(), {});
  EXPECT_EQ(sampler.Sample(std::vector<float>{1, 5, 3, 5}, 0).token_id, 1);
  EXPECT_EQ(sampler.Sample(std::vector<float>{NAN, -3, NAN, -1}, 1).token_id, 3);
  EXPECT_EQ(sampler.Sample(std::vector<float>{0, INFINITY, INFINITY}, 2).token_id, 1);
}

TEST(Sampler, TinyTemperaturesAreGreedyAndSafe) {
  const std::vector<float> logits = NormalLogits(1000, 6);
  const auto greatest = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  for (const float temperature : {0.0F, 1e-45F, 1e-30F, 9e-6F, 1.1e-5F, 1e-4F}) {
    SamplingParams params = Random(1);
    params.temperature = temperature;
    EXPECT_THAT(SampleMany(params, logits, 50), Each(greatest)) << temperature;
  }
}

TEST(Sampler, HugeTemperaturesAreUniformAndSafe) {
  SamplingParams params = Random(1);
  params.temperature = 3e38F;
  const std::vector<TokenId> tokens = SampleMany(params, {-1e30F, 0.0F, 50.0F, -INFINITY}, 300);
  for (const TokenId token_id : {0, 1, 2}) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(tokens, token_id)), 100, 30);
  }
}

TEST(Sampler, NanAndMinusInfinityAreNeverDrawn) {
  const std::vector<float> logits = {NAN, 0.0F, -INFINITY, 0.0F, NAN, -NAN};
  for (const int top_k : {0, 3}) {
    SamplingParams params = Random(9);
    params.top_k = top_k;
    const std::vector<TokenId> tokens = SampleMany(params, logits, 200);
    EXPECT_THAT(tokens, Each(testing::AnyOf(1, 3)));
    EXPECT_GT(std::ranges::count(tokens, 3), 60);
  }
}

TEST(Sampler, InfiniteLogitsShareAllTheWeight) {
  const std::vector<float> logits = {0.0F, INFINITY, 1e30F, INFINITY};
  for (const float top_p : {1.0F, 0.9F}) {
    SamplingParams params = Random(9);
    params.top_p = top_p;
    params.num_logprobs = 1;
    const std::vector<TokenId> tokens = SampleMany(params, logits, 200);
    EXPECT_THAT(tokens, Each(testing::AnyOf(1, 3)));
    EXPECT_GT(std::ranges::count(tokens, 3), 60);
    Sampler sampler(params, {});
    EXPECT_NEAR(sampler.Sample(logits, 0).logprob, -std::log(2.0), 1e-6);
  }
}

TEST(Sampler, WithoutAnyPossibleTokenTheChoiceIsDefined) {
  for (SamplingParams params : {Greedy(), Random(3)}) {
    params.num_logprobs = 2;
    Sampler sampler(params, {});
    const SampledToken token = sampler.Sample(std::vector<float>{NAN, -INFINITY}, 0);
    EXPECT_EQ(token.token_id, 0);
    EXPECT_EQ(token.logprob, -INFINITY);
    EXPECT_TRUE(token.top_logprobs.empty());

    params.stop_token_ids = {0, 1};
    params.min_tokens = 5;
    Sampler masked(params, {});
    EXPECT_EQ(masked.Sample(std::vector<float>{1, 2}, 0).token_id, 1);
  }
}

TEST(Sampler, LogitBiasForcesAndForbids) {
  SamplingParams params = Random(4);
  const std::vector<float> logits = {5, 4, 0, 1};
  params.logit_bias = {{2, 100.0F}};
  EXPECT_THAT(SampleMany(params, logits, 100), Each(2));
  params.logit_bias = {{0, -100.0F}, {1, -100.0F}, {2, -100.0F}};
  EXPECT_THAT(SampleMany(params, logits, 100), Each(3));
}

TEST(Sampler, MinTokensForbidsStopTokensUntilThen) {
  SamplingParams params = Greedy();
  params.stop_token_ids = {1};
  params.min_tokens = 3;
  EXPECT_THAT(SampleMany(params, {0, 9, 5}, 5), ElementsAre(2, 2, 2, 1, 1));
}

TEST(Sampler, PenaltiesCountTheSampledTokens) {
  SamplingParams params = Greedy();
  params.presence_penalty = 2.0F;
  EXPECT_THAT(SampleMany(params, {3.0F, 2.0F, 0.5F}, 4), ElementsAre(0, 1, 0, 0));
  params.presence_penalty = 0.0F;
  params.frequency_penalty = 1.5F;
  EXPECT_THAT(SampleMany(params, {3.0F, 2.0F, 0.5F}, 4), ElementsAre(0, 1, 0, 1));
}

TEST(Sampler, RepetitionPenaltyCoversThePrompt) {
  SamplingParams params = Greedy();
  params.repetition_penalty = 2.0F;
  const std::vector<TokenId> prompt = {0, 0, 1};
  Sampler sampler(params, prompt);
  EXPECT_EQ(sampler.Sample(std::vector<float>{3.0F, 2.0F, 1.6F}, 3).token_id, 2);
  EXPECT_EQ(sampler.Sample(std::vector<float>{3.0F, 2.0F, 1.6F}, 4).token_id, 0);
}

TEST(Sampler, LogprobsAreOfTheRawLogitsWithinFloatRounding) {
  std::mt19937 random(7);
  for (const size_t size : {3U, 1000U, 151'936U}) {
    const std::vector<float> logits = NormalLogits(size, static_cast<uint32_t>(size));
    long double sum = 0;
    for (const float logit : logits) {
      sum += std::exp(static_cast<long double>(logit));
    }
    const auto logprob = [&](TokenId token_id) {
      return static_cast<double>(logits[static_cast<size_t>(token_id)] - std::log(sum));
    };
    SamplingParams params = Random(11);
    params.temperature = 2.0F;
    params.top_k = 50;
    params.logit_bias = {{1, 30.0F}};
    params.presence_penalty = 1.0F;
    params.num_logprobs = 20;
    Sampler sampler(params, {});
    for (int position = 0; position < 10; ++position) {
      const SampledToken token = sampler.Sample(logits, position);
      EXPECT_NEAR(token.logprob, logprob(token.token_id), 2e-6);
      ASSERT_EQ(token.top_logprobs.size(), std::min<size_t>(size, 20));
      for (size_t i = 0; i < token.top_logprobs.size(); ++i) {
        EXPECT_NEAR(token.top_logprobs[i].logprob, logprob(token.top_logprobs[i].token_id), 2e-6);
        EXPECT_TRUE(i == 0 || token.top_logprobs[i - 1].logprob >= token.top_logprobs[i].logprob);
      }
      EXPECT_EQ(token.top_logprobs[0].token_id, std::ranges::max_element(logits) - logits.begin());
    }
  }
}

TEST(Sampler, LogprobsChangeNoChoice) {
  const std::vector<float> logits = NormalLogits(500, 8);
  SamplingParams params = Random(12);
  params.top_p = 0.9F;
  const std::vector<TokenId> without = SampleMany(params, logits, 200);
  params.num_logprobs = 5;
  EXPECT_EQ(SampleMany(params, logits, 200), without);
}

TEST(Sampler, AnAnswerDoesNotDependOnTheOthersInTheBatch) {
  constexpr int kNumSequences = 6;
  const std::vector<float> logits = NormalLogits(2000, 9);
  std::vector<Sampler> batch;
  std::vector<std::vector<TokenId>> together(kNumSequences);
  for (uint64_t i = 0; i < kNumSequences; ++i) {
    batch.emplace_back(Random(i), std::span<const TokenId>{});
  }
  for (int position = 0; position < 100; ++position) {
    for (size_t i = 0; i < kNumSequences; ++i) {
      together[i].push_back(batch[i].Sample(logits, position).token_id);
    }
  }
  for (uint64_t i = 0; i < kNumSequences; ++i) {
    EXPECT_EQ(SampleMany(Random(i), logits, 100), together[i]);
    EXPECT_TRUE(i == 0 || together[i] != together[i - 1]);
  }
}

// Pinned: the same on every platform and in every version. A change here changes users' answers.
TEST(Sampler, ASeedGivesTheseTokensForever) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7919) % 1009) / 128.0F;
  }
  SamplingParams params = Random(42);
  EXPECT_THAT(SampleMany(params, logits, 8), ElementsAre(470, 326, 654, 669, 832, 297, 747, 409));
  params.temperature = 0.7F;
  params.top_k = 20;
  params.top_p = 0.8F;
  EXPECT_THAT(SampleMany(params, logits, 8), ElementsAre(66, 798, 343, 343, 620, 798, 99, 310));
  params.top_k = 0;
  params.min_p = 0.05F;
  EXPECT_THAT(SampleMany(params, logits, 8), ElementsAre(330, 719, 772, 528, 759, 442, 871, 785));
}

}  // namespace
}  // namespace whinchat
