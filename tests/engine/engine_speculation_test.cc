// SPDX-License-Identifier: Apache-2.0
// Speculation changes how many steps an answer takes, and nothing else: each answer here is made
// with and without it and compared to the last bit, logprobs included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/fake_model.h"
#include "kernels/kernel_table.h"
#include "model/model.h"

namespace whinchat {
namespace {

constexpr int kMaxModelLen = 400;

EngineOptions Options(int num_speculative_tokens) {
  EngineOptions options;
  options.max_model_len = kMaxModelLen;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 64;
  options.num_kv_blocks = 60;
  options.num_speculative_tokens = num_speculative_tokens;
  return options;
}

struct Result {
  std::vector<Answer> answers;
  EngineStats stats;
};

// All requests at once.
Result AnswerAll(std::unique_ptr<Model> model,
                 const EngineOptions& options,
                 const std::vector<Request>& requests) {
  Engine engine(std::move(model), options);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const Request& request : requests) {
    streams.push_back(engine.Submit(request));
  }
  Result result;
  for (const auto& stream : streams) {
    result.answers.push_back(ReadAll(*stream));
  }
  result.stats = engine.Stats();
  EXPECT_EQ(result.stats.num_kv_blocks_used, 0);
  return result;
}

void ExpectSameAnswers(const Result& actual, const Result& expected) {
  ASSERT_EQ(actual.answers.size(), expected.answers.size());
  for (size_t i = 0; i < actual.answers.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "answer " << i);
    const Answer& a = actual.answers[i];
    const Answer& b = expected.answers[i];
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.end.finish_reason, b.end.finish_reason);
    EXPECT_EQ(a.end.stop_token_id, b.end.stop_token_id);
    ASSERT_EQ(a.sampled.size(), b.sampled.size());
    for (size_t t = 0; t < a.sampled.size(); ++t) {
      EXPECT_EQ(a.sampled[t].logprob, b.sampled[t].logprob);
      const auto same = [](const TokenLogprob& x, const TokenLogprob& y) {
        return x.token_id == y.token_id && x.logprob == y.logprob;
      };
      EXPECT_TRUE(std::ranges::equal(a.sampled[t].top_logprobs, b.sampled[t].top_logprobs, same));
    }
  }
}

struct SamplingCase {
  std::string name;
  SamplingParams sampling;
};

std::vector<SamplingCase> SamplingCases() {
  std::vector<SamplingCase> cases(6);
  cases[0].name = "greedy";
  cases[0].sampling.temperature = 0.0F;
  cases[1].name = "seeded";
  cases[1].sampling.temperature = 0.4F;
  cases[2].name = "seeded_top_p";
  cases[2].sampling.temperature = 0.7F;
  cases[2].sampling.top_k = 8;
  cases[2].sampling.top_p = 0.8F;
  cases[3].name = "penalties";
  cases[3].sampling.temperature = 0.0F;
  cases[3].sampling.repetition_penalty = 1.02F;
  cases[3].sampling.frequency_penalty = 0.02F;
  cases[3].sampling.presence_penalty = 0.3F;
  cases[4].name = "stop_tokens_after_min_tokens";
  cases[4].sampling.temperature = 0.3F;
  cases[4].sampling.stop_token_ids = {3, 11, 20, 21, 40, 41, 42, 50};
  cases[4].sampling.min_tokens = 60;
  cases[5].name = "bias";
  cases[5].sampling.temperature = 0.0F;
  cases[5].sampling.logit_bias = {{5, 3.0F}, {6, 2.5F}, {7, 2.0F}};
  for (SamplingCase& sampling_case : cases) {
    sampling_case.sampling.seed = 7;
    sampling_case.sampling.max_tokens = 150;
    sampling_case.sampling.num_logprobs = 3;
  }
  return cases;
}

std::vector<Request> Requests(const SamplingParams& sampling, int num_requests) {
  std::vector<Request> requests;
  for (int i = 0; i < num_requests; ++i) {
    Request& request = requests.emplace_back();
    // Prompts that end before, at and behind borders of blocks and chunks.
    request.prompt = MakePrompt(27 + 3 * i, static_cast<uint32_t>(i % 5));
    request.sampling = sampling;
    request.sampling.seed = static_cast<uint64_t>(i);
    request.sampling.max_tokens += i;
  }
  return requests;
}

class EngineSpeculation : public testing::TestWithParam<SamplingCase> {};

TEST_P(EngineSpeculation, ChangesNoAnswer) {
  const std::vector<Request> requests = Requests(GetParam().sampling, 12);
  FakeModelControl control;
  const Result plain =
      AnswerAll(MakeFakeModel(&control, FakeText::kRepetitive), Options(0), requests);
  EXPECT_EQ(plain.stats.num_drafts, 0U);
  for (const int num_speculative_tokens : {1, 3, 7, 16}) {
    SCOPED_TRACE(num_speculative_tokens);
    const Result result = AnswerAll(
        MakeFakeModel(&control, FakeText::kRepetitive), Options(num_speculative_tokens), requests);
    ExpectSameAnswers(result, plain);
    EXPECT_GT(result.stats.num_accepted_tokens, 20U);
    EXPECT_GT(result.stats.num_draft_tokens, result.stats.num_accepted_tokens);
    EXPECT_EQ(result.stats.num_generation_tokens, plain.stats.num_generation_tokens);
  }
  EXPECT_EQ(control.num_violations, 0);
}

// The true forward pass and real kernels, int8 keys and values in blocks.
TEST_P(EngineSpeculation, ChangesNoBitOfARealModel) {
  ModelConfig config;
  config.architecture = "qwen3";
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 32;
  config.vocab_size = kFakeVocabSize;
  config.max_seq_len = 1024;
  config.has_qk_norm = true;
  config.tie_word_embeddings = true;
  ThreadPool pool(2);
  const auto make_model = [&] {
    return MakeRandomModel(
        config, PackedType::kW4G32, /*seed=*/3, &pool, kernels::SelectKernelTable());
  };
  SamplingParams sampling = GetParam().sampling;
  sampling.temperature *= 0.1F;  // its logits lie close together
  const std::vector<Request> requests = Requests(sampling, 6);
  const Result plain = AnswerAll(make_model(), Options(0), requests);
  const Result result = AnswerAll(make_model(), Options(7), requests);
  ExpectSameAnswers(result, plain);
  EXPECT_GT(result.stats.num_accepted_tokens, 0U);
  EXPECT_GT(result.stats.num_draft_tokens, result.stats.num_accepted_tokens);
}

INSTANTIATE_TEST_SUITE_P(EachSampling,
                         EngineSpeculation,
                         testing::ValuesIn(SamplingCases()),
                         [](const auto& param_info) { return param_info.param.name; });

Request Repeating(int num_prompt_tokens, int max_tokens) {
  Request request = MakeRequest(MakePrompt(num_prompt_tokens, 1), max_tokens);
  request.sampling.temperature = 0.0F;
  return request;
}

TEST(EngineSpeculationSteps, AcceptedTokensSaveSteps) {
  FakeModelControl control;
  const Result result =
      AnswerAll(MakeFakeModel(&control, FakeText::kRepetitive), Options(7), {Repeating(20, 300)});
  EXPECT_EQ(result.answers[0].tokens.size(), 300U);
  EXPECT_EQ(static_cast<uint64_t>(control.num_forwards),
            300 - result.stats.num_accepted_tokens);  // one sampled token a step beside them
  EXPECT_LT(control.num_forwards, 200);
}

// The draft never reaches past the last token that max_tokens or the context allows.
TEST(EngineSpeculationSteps, DraftsEndBeforeTheAnswerMust) {
  for (int max_tokens = 1; max_tokens < 60; ++max_tokens) {
    FakeModelControl control;
    const Request request = Repeating(10, max_tokens);
    const Result result =
        AnswerAll(MakeFakeModel(&control, FakeText::kRepetitive), Options(7), {request});
    ExpectAnswer(result.answers[0], AnswerAlone(request, kMaxModelLen, FakeText::kRepetitive));
    EXPECT_EQ(control.num_violations, 0);
  }
  for (int max_model_len = 60; max_model_len < 100; ++max_model_len) {
    FakeModelControl control;
    EngineOptions options = Options(7);
    options.max_model_len = max_model_len;
    options.num_kv_blocks = (max_model_len + 31) / 32;
    const Request request = Repeating(10, 1000);
    const Result result =
        AnswerAll(MakeFakeModel(&control, FakeText::kRepetitive), options, {request});
    ExpectAnswer(result.answers[0], AnswerAlone(request, max_model_len, FakeText::kRepetitive));
    EXPECT_EQ(control.num_violations, 0);
  }
}

// A second request finds the first one's tokens in the cache; a rejected token among them would
// change its answer, for the model reads its history from the blocks.
TEST(EngineSpeculationSteps, ThePrefixCacheNeverSeesRejectedTokens) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FakeModelControl control;
    Engine engine(MakeFakeModel(&control, FakeText::kRepetitive), Options(7));
    Request first = Repeating(20, 60 + static_cast<int>(seed));
    first.sampling.temperature = 0.5F;
    first.sampling.seed = seed;
    const Answer answer = ReadAll(*engine.Submit(first));
    const EngineStats stats = engine.Stats();
    ASSERT_GT(stats.num_draft_tokens, stats.num_accepted_tokens);
    Request second = Repeating(20, 40);
    second.prompt.insert(second.prompt.end(), answer.tokens.begin(), answer.tokens.end());
    second.prompt.push_back(1);
    const Answer continued = ReadAll(*engine.Submit(second));
    ExpectAnswer(continued, AnswerAlone(second, kMaxModelLen, FakeText::kRepetitive));
    EXPECT_GE(continued.end.num_cached_tokens, 64);
    EXPECT_LE(continued.end.num_cached_tokens, 20 + static_cast<int>(answer.tokens.size()) - 1);
    EXPECT_EQ(control.num_violations, 0);
  }
}

// Drafts take at most half of what is left of a step, or a prompt would wait for their end.
TEST(EngineSpeculationSteps, DraftsLeaveRoomForPrompts) {
  FakeModelControl control;
  EngineOptions options = Options(16);
  options.max_num_batched_tokens = 8;
  const std::vector<Request> requests = {
      Repeating(20, 200), Repeating(60, 100), Repeating(90, 50), Repeating(120, 20)};
  const Result result =
      AnswerAll(MakeFakeModel(&control, FakeText::kRepetitive), options, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    ExpectAnswer(result.answers[i], AnswerAlone(requests[i], kMaxModelLen, FakeText::kRepetitive));
  }
  EXPECT_EQ(control.num_violations, 0);
  EXPECT_GT(result.stats.num_accepted_tokens, 0U);
}

}  // namespace
}  // namespace whinchat
