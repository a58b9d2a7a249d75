// SPDX-License-Identifier: Apache-2.0
// Small models of each architecture against transformers, from the files that save_pretrained
// writes: the reference path's logits and greedy tokens, and how far the fast path is from them.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "golden_logits.h"
#include "logit_comparison.h"
#include "model/model.h"
#include "sequence_runner.h"

namespace whinchat {
namespace {

constexpr double kTolerance = 1e-3;

struct GoldenModel {
  std::string name;
  std::string weights_of;  // the folder that holds model.safetensors
};

std::vector<GoldenModel> GoldenModels() {
  return {{"qwen3", "qwen3"},
          {"qwen2", "qwen2"},
          {"llama", "llama"},
          {"llama_large_vocab", "llama_large_vocab"},
          {"llama_rope_llama3", "llama"},
          {"llama_rope_linear", "llama"}};
}

std::filesystem::path GoldenFolder(const std::string& name) {
  return std::filesystem::path(WHINCHAT_TEST_DATA_DIR) / "golden" / "model" / name;
}

// A folder with a golden model's configuration and weights, removed at the end.
class ModelFolder {
 public:
  explicit ModelFolder(const GoldenModel& golden)
      : path_(std::filesystem::path(testing::TempDir()) / ("whinchat_golden_" + golden.name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    std::filesystem::copy_file(GoldenFolder(golden.name) / "config.json", path_ / "config.json");
    std::filesystem::copy_file(GoldenFolder(golden.weights_of) / "model.safetensors",
                               path_ / "model.safetensors");
  }
  ~ModelFolder() { std::filesystem::remove_all(path_); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class GoldenLogits : public testing::TestWithParam<GoldenModel> {
 protected:
  GoldenLogits() : folder_(GetParam()), pool_(2), checkpoint_(OpenCheckpoint(folder_.path())) {}

  std::unique_ptr<Model> Load(WeightMode mode) {
    ModelOptions options;
    options.weights = mode;
    return Model::Load(*checkpoint_, options, &pool_, kernels::SelectKernelTable());
  }

  static std::vector<GoldenPrompt> Prompts() {
    return ReadGoldenLogits(GoldenFolder(GetParam().name) / "golden.bin");
  }

  // Logits of all positions of a prompt.
  static RunningSequence Run(Model* model, const std::vector<TokenId>& tokens) {
    SequenceRunner runner(model, /*num_blocks=*/40, /*max_tokens=*/128);
    RunningSequence sequence = runner.Start(tokens);
    runner.Finish(sequence, 128);
    return sequence;
  }

  ModelFolder folder_;
  ThreadPool pool_;
  std::unique_ptr<Checkpoint> checkpoint_;
};

void ExpectWithinTolerance(Model* model,
                           const std::vector<GoldenPrompt>& prompts,
                           RunningSequence (*run)(Model*, const std::vector<TokenId>&)) {
  size_t num_logits = 0;
  double worst = 0;
  for (const GoldenPrompt& prompt : prompts) {
    const RunningSequence sequence = run(model, prompt.tokens);
    for (const GoldenPosition& golden : prompt.positions) {
      const double difference = MaxDifference(golden, sequence.logits[golden.position]);
      ASSERT_LE(difference, kTolerance)
          << prompt.tokens.size() << " tokens, position " << golden.position;
      worst = std::max(worst, difference);
      num_logits += kGoldenTop;
    }
  }
  std::cout << "compared " << num_logits << " logits, greatest difference " << worst << "\n";
  EXPECT_GE(num_logits, 40 * kGoldenTop);
}

TEST_P(GoldenLogits, OfTheFp32PathAreThoseOfTransformers) {
  ExpectWithinTolerance(Load(WeightMode::kF32).get(), Prompts(), Run);
}

TEST_P(GoldenLogits, OfTheBf16PathAreThoseOfTransformers) {
  ExpectWithinTolerance(Load(WeightMode::kBF16).get(), Prompts(), Run);
}

TEST_P(GoldenLogits, GreedyTokensAreThoseOfTransformers) {
  const std::unique_ptr<Model> model = Load(WeightMode::kF32);
  size_t num_tokens = 0;
  for (const GoldenPrompt& prompt : Prompts()) {
    if (prompt.greedy_tokens.empty()) {
      continue;
    }
    std::vector<TokenId> tokens = prompt.tokens;
    tokens.insert(tokens.end(), prompt.greedy_tokens.begin(), prompt.greedy_tokens.end());
    SequenceRunner runner(model.get(), /*num_blocks=*/40, /*max_tokens=*/128);
    RunningSequence sequence = runner.Start(tokens);
    RunningSequence* const sequences[] = {&sequence};
    const int prompt_size[] = {static_cast<int>(prompt.tokens.size())};
    const int one[] = {1};
    runner.Step(sequences, prompt_size);
    for (const TokenId expected : prompt.greedy_tokens) {
      const std::vector<float>& logits =
          sequence.logits[static_cast<size_t>(sequence.num_computed - 1)];
      const auto best = std::max_element(logits.begin(), logits.end());
      ASSERT_EQ(best - logits.begin(), expected) << "after " << sequence.num_computed << " tokens";
      ++num_tokens;
      runner.Step(sequences, one);
    }
  }
  EXPECT_EQ(num_tokens, 64U);
}

TEST_P(GoldenLogits, FastPathStaysNearTheReferencePath) {
  const std::unique_ptr<Model> fast = Load(WeightMode::kAuto);
  const std::unique_ptr<Model> reference = Load(WeightMode::kF32);
  double divergence = 0;
  size_t num_positions = 0;
  for (const GoldenPrompt& prompt : Prompts()) {
    const RunningSequence expected = Run(reference.get(), prompt.tokens);
    const RunningSequence actual = Run(fast.get(), prompt.tokens);
    for (size_t i = 0; i < expected.logits.size(); ++i) {
      divergence += KlDivergence(expected.logits[i], actual.logits[i]);
      ++num_positions;
    }
  }
  divergence /= static_cast<double>(num_positions);
  std::cout << fast->DescribeWeights() << ": KL " << divergence << " over " << num_positions
            << " positions\n";
  // Random weights are harder on rounding than trained ones, most of all where logits are sharp.
  EXPECT_LE(divergence, 0.03);
  EXPECT_GT(divergence, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Small,
                         GoldenLogits,
                         testing::ValuesIn(GoldenModels()),
                         [](const testing::TestParamInfo<GoldenModel>& golden) {
                           return golden.param.name;
                         });

}  // namespace
}  // namespace whinchat
