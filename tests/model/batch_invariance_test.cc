// SPDX-License-Identifier: Apache-2.0
// Design rule 1: the logits of a token are the same bits whatever path computed them. Everything is
// compared with decoding token by token on one thread with the scalar kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "model/model.h"
#include "sequence_runner.h"
#include "tiny_models.h"

namespace whinchat {
namespace {

constexpr int kSequenceTokens = 560;  // three spans of 256, the last one short
constexpr int kDecodeTokens = 290;
constexpr int kMaxTokens = 600;
constexpr int kNumBlocks = 60;
constexpr uint64_t kSeed = 7;

struct Variant {
  std::string name;
  ModelConfig config;
  PackedType type;
};

std::vector<Variant> Variants() {
  return {{"Qwen3W8", TinyQwen3(), PackedType::kW8G32},
          {"Qwen3W4", TinyQwen3(), PackedType::kW4G32},
          {"LlamaW4Min", TinyLlama(), PackedType::kW4G32Min},
          {"LlamaW8Min", TinyLlama(), PackedType::kW8G32Min},
          {"Qwen2MixedW8", TinyQwen2(), PackedType::kW8G32},
          {"Qwen3F32", TinyQwen3(), PackedType::kF32},
          {"LlamaBF16", TinyLlama(), PackedType::kBF16}};
}

// A model on its own pool.
struct PooledModel {
  PooledModel(const Variant& variant, kernels::Isa isa, int num_threads)
      : pool(num_threads),
        model(MakeRandomModel(
            variant.config, variant.type, kSeed, &pool, *kernels::FindKernelTable(isa))) {}

  ThreadPool pool;
  std::unique_ptr<Model> model;
};

// Expects the logits of `sequence` to be the first of `expected`, bit for bit.
void ExpectSameBits(const RunningSequence& sequence,
                    const std::vector<std::vector<float>>& expected,
                    size_t first_position = 0) {
  for (size_t i = first_position; i < sequence.logits.size(); ++i) {
    ASSERT_EQ(sequence.logits[i].size(), expected[i].size()) << "position " << i;
    ASSERT_EQ(
        std::memcmp(
            sequence.logits[i].data(), expected[i].data(), expected[i].size() * sizeof(float)),
        0)
        << "position " << i << ": " << sequence.logits[i][0] << " for " << expected[i][0];
  }
}

class BatchInvariance : public testing::TestWithParam<Variant> {
 protected:
  static std::vector<TokenId> Tokens(int count, uint32_t seed) {
    return SomeTokens(count, GetParam().config.vocab_size, seed);
  }

  // Token by token, scalar kernels, one thread.
  static std::vector<std::vector<float>> Expected(const std::vector<TokenId>& tokens) {
    PooledModel scalar(GetParam(), kernels::Isa::kScalar, 1);
    SequenceRunner runner(scalar.model.get(), kNumBlocks, kMaxTokens);
    RunningSequence sequence = runner.Start(tokens);
    runner.Finish(sequence, 1);
    return sequence.logits;
  }
};

TEST_P(BatchInvariance, LogitsAreFiniteAndDifferByPosition) {
  const std::vector<std::vector<float>> logits = Expected(Tokens(40, 1));
  for (const std::vector<float>& row : logits) {
    for (const float logit : row) {
      ASSERT_TRUE(std::isfinite(logit));
    }
  }
  EXPECT_NE(logits[38], logits[39]);
}

TEST_P(BatchInvariance, HoldsForEveryChunkSizeThreadCountAndIsa) {
  const std::vector<TokenId> tokens = Tokens(kSequenceTokens, 1);
  const std::vector<std::vector<float>> expected = Expected(tokens);
  int num_compared = 0;
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    if (kernels::FindKernelTable(isa) == nullptr) {
      continue;
    }
    for (const int num_threads : {1, 2, 3}) {
      PooledModel pooled(GetParam(), isa, num_threads);
      for (const int chunk_size : {1, 7, 32, 500}) {
        SCOPED_TRACE(testing::Message() << kernels::IsaName(isa) << ", " << num_threads
                                        << " threads, chunks of " << chunk_size);
        SequenceRunner runner(pooled.model.get(), kNumBlocks, kMaxTokens);
        // Decode costs the most and needs two spans only.
        const int num_tokens = chunk_size == 1 ? kDecodeTokens : kSequenceTokens;
        RunningSequence sequence = runner.Start({tokens.begin(), tokens.begin() + num_tokens});
        runner.Finish(sequence, chunk_size);
        ASSERT_NO_FATAL_FAILURE(ExpectSameBits(sequence, expected));
        ++num_compared;
      }
    }
  }
  RecordProperty("runs_compared", num_compared);
  EXPECT_GE(num_compared, 12);
}

TEST_P(BatchInvariance, HoldsInABatchOfEightMixedSequences) {
  const int lengths[] = {1, 33, 64, 100, 256, 257, 300, 31};
  for (const int num_threads : {1, 2, 3}) {
    const kernels::Isa isa = kernels::SelectKernelTable().isa;
    PooledModel pooled(GetParam(), isa, num_threads);
    SequenceRunner runner(pooled.model.get(), kNumBlocks, kMaxTokens);
    std::vector<RunningSequence> sequences;
    std::vector<RunningSequence*> pointers;
    for (uint32_t i = 0; i < 8; ++i) {
      sequences.push_back(runner.Start(Tokens(lengths[i], i)));
    }
    for (RunningSequence& sequence : sequences) {
      pointers.push_back(&sequence);
    }
    // Some decode, some prefill in chunks of different sizes, some rest for a step.
    const int sizes[][8] = {{1, 1, 7, 32, 40, 1, 100, 3}, {0, 5, 1, 0, 33, 90, 2, 1}};
    const auto is_unfinished = [](const RunningSequence& s) { return s.NumLeft() > 0; };
    for (int step = 0; std::any_of(sequences.begin(), sequences.end(), is_unfinished); ++step) {
      runner.Step(pointers, sizes[step % 2]);
    }
    for (uint32_t i = 0; i < 8; ++i) {
      SCOPED_TRACE(testing::Message() << num_threads << " threads, sequence " << i);
      ASSERT_NO_FATAL_FAILURE(ExpectSameBits(sequences[i], Expected(Tokens(lengths[i], i))));
    }
  }
}

TEST_P(BatchInvariance, HoldsWithACachedPrefix) {
  const std::vector<TokenId> tokens = Tokens(330, 3);
  const std::vector<std::vector<float>> expected = Expected(tokens);
  PooledModel pooled(GetParam(), kernels::SelectKernelTable().isa, 2);
  SequenceRunner runner(pooled.model.get(), kNumBlocks, kMaxTokens);
  RunningSequence first = runner.Start(tokens);
  runner.Finish(first, 330);
  // 270 known tokens: eight whole blocks shared, 14 tokens of the ninth in a copy.
  RunningSequence second = runner.Start(tokens);
  std::copy_n(first.blocks.begin(), 8, second.blocks.begin());
  runner.cache().CopyBlock(first.blocks[8], second.blocks[8]);
  second.num_computed = 270;
  runner.Finish(second, 23);
  ExpectSameBits(second, expected, /*first_position=*/270);
}

TEST_P(BatchInvariance, LogitsOfSomeRowsAreThoseOfAll) {
  const std::vector<TokenId> tokens = Tokens(50, 4);
  const std::vector<std::vector<float>> expected = Expected(tokens);
  PooledModel pooled(GetParam(), kernels::SelectKernelTable().isa, 2);
  PagedKvCache cache(pooled.model->kv_layout(), 4);
  pooled.model->Reserve(64, 8);
  const std::vector<BlockId> blocks = {2, 0};
  for (const int num_logits : {0, 1, 2, 3, 8}) {
    ForwardBatch batch;
    batch.chunks.push_back({tokens, 0, blocks, num_logits});
    const float* logits = pooled.model->Forward(batch, &cache);
    for (int i = 0; i < num_logits; ++i) {
      const std::vector<float>& row = expected[static_cast<size_t>(50 - num_logits + i)];
      ASSERT_EQ(std::memcmp(logits + static_cast<size_t>(i) * pooled.model->logits_stride(),
                            row.data(),
                            row.size() * sizeof(float)),
                0)
          << num_logits << " rows, row " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny,
                         BatchInvariance,
                         testing::ValuesIn(Variants()),
                         [](const testing::TestParamInfo<Variant>& variant) {
                           return variant.param.name;
                         });

}  // namespace
}  // namespace whinchat
