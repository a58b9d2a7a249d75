// SPDX-License-Identifier: Apache-2.0
// Penalties, bias and min_tokens against a reference in double that recounts the tokens each time.
#include "sampling/logits_processors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace whinchat {
namespace {

constexpr int kVocabSize = 40;

bool Contains(const std::vector<TokenId>& tokens, TokenId token_id) {
  return std::ranges::find(tokens, token_id) != tokens.end();
}

double Reference(double logit,
                 TokenId token_id,
                 const SamplingParams& params,
                 const std::vector<TokenId>& prompt,
                 const std::vector<TokenId>& output) {
  if (static_cast<int>(output.size()) < params.min_tokens &&
      Contains(params.stop_token_ids, token_id)) {
    return -INFINITY;
  }
  if (params.logit_bias.contains(token_id)) {
    logit += static_cast<double>(params.logit_bias.at(token_id));
  }
  const auto count = static_cast<double>(std::ranges::count(output, token_id));
  if (count > 0 || Contains(prompt, token_id)) {
    logit = logit > 0 ? logit / static_cast<double>(params.repetition_penalty)
                      : logit * static_cast<double>(params.repetition_penalty);
  }
  logit -= static_cast<double>(params.frequency_penalty) * count;
  return logit - (count > 0 ? static_cast<double>(params.presence_penalty) : 0.0);
}

SamplingParams RandomParams(std::mt19937& random) {
  SamplingParams params;
  params.repetition_penalty = random() % 2 == 0 ? 1.0F : 1.3F;
  params.presence_penalty = random() % 2 == 0 ? 0.0F : 1.5F;
  params.frequency_penalty = random() % 2 == 0 ? 0.0F : -0.7F;
  params.min_tokens = static_cast<int>(random() % 8);
  params.stop_token_ids = {3, 17};
  if (random() % 2 == 0) {
    params.logit_bias = {{5, 10.0F}, {17, -100.0F}, {3, 100.0F}};
  }
  return params;
}

TEST(LogitsProcessors, EqualADoubleReferenceAtEveryStep) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0.0F, 5.0F);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const SamplingParams params = RandomParams(random);
    std::vector<TokenId> prompt(random() % 20);
    std::ranges::generate(prompt, [&] { return static_cast<TokenId>(random() % kVocabSize); });
    LogitsProcessors processors(params, prompt);
    std::vector<TokenId> output;
    for (int step = 0; step < 20; ++step) {
      std::vector<float> logits(kVocabSize);
      std::ranges::generate(logits, [&] { return normal(random); });
      const std::vector<float> before = logits;
      const std::span<const float> actual = processors.Apply(logits);
      for (TokenId id = 0; id < kVocabSize; ++id) {
        const auto i = static_cast<size_t>(id);
        const double expected =
            Reference(static_cast<double>(before[i]), id, params, prompt, output);
        if (std::isinf(expected)) {
          EXPECT_EQ(actual[i], -INFINITY);
        } else {
          EXPECT_NEAR(actual[i], expected, 1e-5 * (1 + std::abs(expected)));
        }
      }
      EXPECT_EQ(logits, before);
      output.push_back(static_cast<TokenId>(random() % kVocabSize));
      processors.Append(output.back());
    }
  }
}

TEST(LogitsProcessors, CopyNothingWhenNothingApplies) {
  const std::vector<TokenId> prompt = {1, 2, 3};
  LogitsProcessors processors(SamplingParams{}, prompt);
  const std::vector<float> logits(kVocabSize);
  processors.Append(1);
  EXPECT_EQ(processors.Apply(logits).data(), logits.data());
}

TEST(LogitsProcessors, IgnoreTokensOutsideTheVocabulary) {
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  params.logit_bias = {{-1, 5.0F}, {1'000'000, 5.0F}};
  params.stop_token_ids = {kVocabSize};
  params.min_tokens = 1;
  const std::vector<TokenId> prompt = {-7, kVocabSize, 2};
  LogitsProcessors processors(params, prompt);
  const std::vector<float> logits(kVocabSize, 1.0F);
  const std::span<const float> actual = processors.Apply(logits);
  for (size_t i = 0; i < kVocabSize; ++i) {
    EXPECT_EQ(actual[i], i == 2 ? 0.5F : 1.0F);
  }
}

}  // namespace
}  // namespace whinchat
