// SPDX-License-Identifier: Apache-2.0
#include "engine/fake_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "sampling/sampler.h"

namespace whinchat {
namespace {

struct Slot {
  TokenId token_id = 0;
  int32_t position = 0;
};

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7FB5D329728EA185U;
  x = (x ^ (x >> 27)) * 0x81DADEF4BC2DD44DU;
  return x ^ (x >> 33);
}

uint64_t Extend(uint64_t hash, const Slot& slot) {
  return Mix(hash ^ Mix((static_cast<uint64_t>(slot.position) << 32) |
                        static_cast<uint32_t>(slot.token_id)));
}

// In [-4, 4).
float RandomLogit(uint64_t hash, uint64_t token) {
  return static_cast<float>(Mix(hash + token) % 4096) / 512.0F - 4.0F;
}

struct HistoryHash {
  uint64_t all = 1;
  TokenId last = 0;

  void Append(const Slot& slot) {
    all = Extend(all, slot);
    last = slot.token_id;
  }

  void WriteLogits(FakeText text, float* logits) const {
    const uint64_t last_only = Extend(2, {last, 0});
    for (uint64_t token = 0; token < kFakeVocabSize; ++token) {
      logits[token] = text == FakeText::kRandom
                          ? RandomLogit(all, token)
                          : 2 * RandomLogit(last_only, token) + 0.1F * RandomLogit(all, token);
    }
    logits[kPoisonToken] = -1e30F;
  }
};

class FakeModel : public Model {
 public:
  FakeModel(FakeModelControl* control, FakeText text) : control_(control), text_(text) {
    config_.vocab_size = kFakeVocabSize;
    config_.max_seq_len = 4096;
  }

  const ModelConfig& config() const override { return config_; }
  KvLayout kv_layout() const override {
    return {.dtype = KvDType::kF32, .num_layers = 1, .num_kv_heads = 1, .head_dim = 16};
  }
  size_t WeightBytes() const override { return 0; }
  size_t ScratchBytes(int) const override { return 0; }
  std::string DescribeWeights() const override { return "fake"; }
  size_t logits_stride() const override { return kFakeVocabSize + 3; }

  void Reserve(int max_tokens, int max_logits) override {
    max_tokens_ = max_tokens;
    logits_.resize(static_cast<size_t>(max_logits) * logits_stride());
  }

  const float* Forward(const ForwardBatch& batch, PagedKvCache* kv_cache) noexcept override {
    Watch(batch);
    float* row = logits_.data();
    bool has_poison = false;
    for (const SequenceChunk& chunk : batch.chunks) {
      has_poison |= std::ranges::find(chunk.token_ids, kPoisonToken) != chunk.token_ids.end();
      for (size_t i = 0; i < chunk.token_ids.size(); ++i) {
        const Slot slot = {chunk.token_ids[i], chunk.start_position + static_cast<int>(i)};
        std::memcpy(SlotAt(chunk, slot.position, kv_cache), &slot, sizeof(slot));
      }
    }
    for (const SequenceChunk& chunk : batch.chunks) {
      const int end = chunk.start_position + static_cast<int>(chunk.token_ids.size());
      for (int position = end - chunk.num_logits; position < end; ++position) {
        HashOfBlocks(chunk, position, kv_cache).WriteLogits(text_, row);
        row += logits_stride();
      }
    }
    return has_poison ? nullptr : logits_.data();
  }

 private:
  static std::byte* SlotAt(const SequenceChunk& chunk, int position, PagedKvCache* kv_cache) {
    const BlockId block = chunk.block_table[static_cast<size_t>(position / kKvBlockTokens)];
    return kv_cache->Block(block) + static_cast<size_t>(position % kKvBlockTokens) * sizeof(Slot);
  }

  HistoryHash HashOfBlocks(const SequenceChunk& chunk, int last, PagedKvCache* kv_cache) {
    HistoryHash hash;
    for (int position = 0; position <= last; ++position) {
      Slot slot;
      std::memcpy(&slot, SlotAt(chunk, position, kv_cache), sizeof(slot));
      Require(slot.position == position);
      hash.Append(slot);
    }
    return hash;
  }

  // A batch within its limits, block tables that cover it, no block written that another reads.
  void Watch(const ForwardBatch& batch) {
    if (control_->before_forward) {
      control_->before_forward();
    }
    ++control_->num_forwards;
    FakeModelControl::BatchRecord record;
    std::multiset<BlockId> used;
    std::set<BlockId> written;
    for (const SequenceChunk& chunk : batch.chunks) {
      const auto num_tokens = static_cast<int>(chunk.token_ids.size());
      const auto end = static_cast<size_t>(chunk.start_position + num_tokens);
      Require(num_tokens > 0 && chunk.block_table.size() * kKvBlockTokens >= end);
      record.start_positions.push_back(chunk.start_position);
      record.num_tokens.push_back(num_tokens);
      used.insert(chunk.block_table.begin(), chunk.block_table.end());
      for (size_t position = static_cast<size_t>(chunk.start_position); position < end;
           ++position) {
        written.insert(chunk.block_table[position / kKvBlockTokens]);
      }
    }
    for (const BlockId block : written) {
      Require(used.count(block) == 1);
    }
    Require(!batch.chunks.empty() && batch.NumTokens() <= max_tokens_);
    Require(static_cast<size_t>(batch.NumLogits()) * logits_stride() <= logits_.size());
    const std::lock_guard lock(control_->mutex);
    control_->batches.push_back(std::move(record));
  }

  void Require(bool holds) { control_->num_violations += holds ? 0 : 1; }

  FakeModelControl* control_;
  FakeText text_;
  ModelConfig config_;
  int max_tokens_ = 0;
  std::vector<float> logits_;
};

}  // namespace

std::vector<float> FakeLogits(const std::vector<TokenId>& history, FakeText text) {
  HistoryHash hash;
  for (size_t i = 0; i < history.size(); ++i) {
    hash.Append({history[i], static_cast<int32_t>(i)});
  }
  std::vector<float> logits(kFakeVocabSize);
  hash.WriteLogits(text, logits.data());
  return logits;
}

std::unique_ptr<Model> MakeFakeModel(FakeModelControl* control, FakeText text) {
  return std::make_unique<FakeModel>(control, text);
}

ExpectedAnswer AnswerAlone(const Request& request, int max_model_len, FakeText text) {
  ExpectedAnswer answer;
  Sampler sampler(request.sampling, request.prompt);
  std::vector<TokenId> history = request.prompt;
  const std::vector<TokenId>& stops = request.sampling.stop_token_ids;
  while (answer.finish_reason == FinishReason::kNone) {
    const TokenId token_id =
        sampler.Sample(FakeLogits(history, text), static_cast<int>(history.size())).token_id;
    if (std::ranges::find(stops, token_id) != stops.end()) {
      answer.finish_reason = FinishReason::kStop;
      answer.stop_token_id = token_id;
      break;
    }
    history.push_back(token_id);
    answer.tokens.push_back(token_id);
    if (static_cast<int>(answer.tokens.size()) == request.sampling.max_tokens ||
        static_cast<int>(history.size()) == max_model_len) {
      answer.finish_reason = FinishReason::kLength;
    }
  }
  return answer;
}

Answer ReadAll(TokenStream& stream) {
  Answer answer;
  while (std::optional<TokenOutput> output = stream.Pop()) {
    if (output->has_token) {
      answer.tokens.push_back(output->token.token_id);
      answer.sampled.push_back(output->token);
    }
    answer.end = *std::move(output);
  }
  return answer;
}

void ExpectAnswer(const Answer& actual, const ExpectedAnswer& expected) {
  EXPECT_EQ(actual.tokens, expected.tokens);
  EXPECT_EQ(actual.end.finish_reason, expected.finish_reason);
  EXPECT_EQ(actual.end.stop_token_id, expected.stop_token_id);
}

std::vector<TokenId> MakePrompt(int num_tokens, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> prompt(static_cast<size_t>(num_tokens));
  std::ranges::generate(prompt, [&] { return static_cast<TokenId>(random() % kPoisonToken); });
  return prompt;
}

Request MakeRequest(std::vector<TokenId> prompt, int max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = 7;
  return request;
}

}  // namespace whinchat
