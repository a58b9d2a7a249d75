// SPDX-License-Identifier: Apache-2.0
// SmolLM2-135M-Instruct, Q4_1 GGUF, real weights: against the dequantized weights run by
// transformers, and the fast path against the reference path on 2,000 tokens of text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "golden_logits.h"
#include "logit_comparison.h"
#include "model/model.h"

namespace whinchat {
namespace {

constexpr double kTolerance = 1e-3;
constexpr double kMaxKl = 0.01;
constexpr int kChunkTokens = 250;

std::filesystem::path ModelPath() {
  return std::filesystem::path(WHINCHAT_TEST_MODELS_DIR) / "smollm2" /
         "SmolLM2-135M-Instruct.Q4_1.gguf";
}

// A model and the cache of one sequence.
class SmolLm2 {
 public:
  SmolLm2(const Checkpoint& checkpoint, WeightMode mode, int num_tokens, ThreadPool* pool) {
    ModelOptions options;
    options.weights = mode;
    model_ = Model::Load(checkpoint, options, pool, kernels::SelectKernelTable());
    model_->Reserve(kChunkTokens, kChunkTokens);
    const int num_blocks = (num_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
    cache_ = std::make_unique<PagedKvCache>(model_->kv_layout(), num_blocks);
    for (BlockId block = num_blocks - 1; block >= 0; --block) {
      blocks_.push_back(block);
    }
  }

  const Model& model() const { return *model_; }

  // Logits of all of `tokens`, which start at `position`.
  std::span<const float> Forward(std::span<const TokenId> tokens, int position) {
    ForwardBatch batch;
    batch.chunks.push_back({tokens, position, blocks_, static_cast<int>(tokens.size())});
    return {model_->Forward(batch, cache_.get()), tokens.size() * model_->logits_stride()};
  }

  std::span<const float> Row(std::span<const float> logits, size_t row) const {
    return logits.subspan(row * model_->logits_stride(),
                          static_cast<size_t>(model_->config().vocab_size));
  }

 private:
  std::unique_ptr<Model> model_;
  std::unique_ptr<PagedKvCache> cache_;
  std::vector<BlockId> blocks_;
};

class SmolLm2Golden : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(ModelPath())) {
      GTEST_SKIP() << ModelPath() << " is not there: run tools/fetch_test_models.py";
    }
    if (kernels::SelectKernelTable().isa == kernels::Isa::kScalar) {
      GTEST_SKIP() << "135M parameters take too long with scalar kernels";
    }
    checkpoint_ = OpenCheckpoint(ModelPath());
    prompts_ = ReadGoldenLogits(std::filesystem::path(WHINCHAT_TEST_DATA_DIR) / "golden" / "model" /
                                "smollm2_q4_1.bin");
    ASSERT_EQ(prompts_[0].tokens.size(), 2000U);
  }

  ThreadPool pool_{2};
  std::unique_ptr<Checkpoint> checkpoint_;
  std::vector<GoldenPrompt> prompts_;  // the text, and a start of it with its greedy continuation
};

TEST_F(SmolLm2Golden, ReferencePathAgreesWithTransformersAndFastPathWithIt) {
  const std::vector<TokenId>& tokens = prompts_[0].tokens;
  const int num_tokens = static_cast<int>(tokens.size());
  SmolLm2 reference(*checkpoint_, WeightMode::kF32, num_tokens, &pool_);
  SmolLm2 fast(*checkpoint_, WeightMode::kAuto, num_tokens, &pool_);
  auto golden = prompts_[0].positions.begin();
  double greatest_difference = 0;
  size_t num_logits = 0;
  double divergence = 0;
  size_t num_same_best = 0;
  for (int begin = 0; begin < num_tokens; begin += kChunkTokens) {
    const auto chunk = std::span(tokens).subspan(static_cast<size_t>(begin), kChunkTokens);
    const std::span<const float> expected = reference.Forward(chunk, begin);
    const std::span<const float> actual = fast.Forward(chunk, begin);
    for (size_t i = 0; i < kChunkTokens; ++i) {
      const std::span<const float> p = reference.Row(expected, i);
      const std::span<const float> q = fast.Row(actual, i);
      divergence += KlDivergence(p, q);
      num_same_best += std::max_element(p.begin(), p.end()) - p.begin() ==
                       std::max_element(q.begin(), q.end()) - q.begin();
      if (golden != prompts_[0].positions.end() &&
          golden->position == static_cast<size_t>(begin) + i) {
        const double difference = MaxDifference(*golden, p);
        EXPECT_LE(difference, kTolerance) << "position " << golden->position;
        greatest_difference = std::max(greatest_difference, difference);
        num_logits += kGoldenTop;
        ++golden;
      }
    }
  }
  divergence /= num_tokens;
  std::cout << "SmolLM2 " << fast.model().DescribeWeights() << ": compared " << num_logits
            << " logits with transformers, greatest difference " << greatest_difference
            << "; fast path: KL " << divergence << " over " << num_tokens
            << " tokens, same best token " << num_same_best << "\n";
  EXPECT_EQ(golden, prompts_[0].positions.end());
  EXPECT_LE(divergence, kMaxKl);
}

TEST_F(SmolLm2Golden, GreedyTokensAreThoseOfTransformers) {
  const GoldenPrompt& prompt = prompts_[1];
  ASSERT_EQ(prompt.greedy_tokens.size(), 64U);
  SmolLm2 reference(*checkpoint_, WeightMode::kF32, 128, &pool_);
  std::span<const float> logits = reference.Forward(prompt.tokens, 0);
  size_t row = prompt.tokens.size() - 1;
  int position = static_cast<int>(prompt.tokens.size());
  for (const TokenId expected : prompt.greedy_tokens) {
    const std::span<const float> last = reference.Row(logits, row);
    ASSERT_EQ(std::max_element(last.begin(), last.end()) - last.begin(), expected) << position;
    logits = reference.Forward(std::span(&expected, 1), position++);
    row = 0;
  }
}

TEST_F(SmolLm2Golden, FastPathGivesTheSameBitsInDecodeAndPrefill) {
  const auto tokens = std::span<const TokenId>(prompts_[0].tokens).first(kChunkTokens);
  SmolLm2 prefill(*checkpoint_, WeightMode::kAuto, kChunkTokens, &pool_);
  SmolLm2 decode(*checkpoint_, WeightMode::kAuto, kChunkTokens, &pool_);
  const std::span<const float> expected = prefill.Forward(tokens, 0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const float> row =
        decode.Row(decode.Forward(tokens.subspan(i, 1), static_cast<int>(i)), 0);
    ASSERT_EQ(std::memcmp(row.data(), prefill.Row(expected, i).data(), row.size_bytes()), 0)
        << "position " << i;
  }
}

}  // namespace
}  // namespace whinchat
