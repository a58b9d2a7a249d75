// SPDX-License-Identifier: Apache-2.0
// What one request sees: its answer, its end, its errors.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <thread>

#include "base/error.h"
#include "engine/fake_model.h"

namespace whinchat {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

EngineOptions SmallOptions() {
  EngineOptions options;
  options.max_model_len = 512;
  options.max_num_seqs = 4;
  options.max_num_batched_tokens = 64;
  options.num_kv_blocks = 40;
  return options;
}

Error SubmitError(Engine& engine, Request request) {
  try {
    engine.Submit(std::move(request));
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted";
  return Error(ErrorCode::kInternal, "");
}

class EngineTest : public ::testing::Test {
 protected:
  void Start(const EngineOptions& options) {
    engine_.reset();
    engine_ = std::make_unique<Engine>(MakeFakeModel(&control_), options);
  }

  Answer Ask(Request request) { return ReadAll(*engine_->Submit(std::move(request))); }

  void TearDown() override {
    if (engine_ != nullptr) {
      EXPECT_EQ(engine_->Stats().num_kv_blocks_used, 0);
    }
    engine_.reset();
    EXPECT_EQ(control_.num_violations, 0);
  }

  FakeModelControl control_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, AnswersAsTheModelAloneWould) {
  Start(SmallOptions());
  for (const int prompt_length : {1, 31, 32, 33, 63, 64, 65, 200}) {
    const Request request = MakeRequest(MakePrompt(prompt_length, 1), 70);
    const Answer answer = Ask(request);
    ExpectAnswer(answer, AnswerAlone(request, 512));
    EXPECT_EQ(answer.tokens.size(), 70U);
    EXPECT_EQ(answer.end.num_prompt_tokens, prompt_length);
  }
}

TEST_F(EngineTest, StopTokensEndTheAnswerAndAreNotPartOfIt) {
  Start(SmallOptions());
  Request request = MakeRequest(MakePrompt(10, 2), 50);
  request.sampling.stop_token_ids = {5, 9};
  request.sampling.logit_bias = {{9, 100.0F}};
  request.sampling.min_tokens = 3;
  const Answer answer = Ask(request);
  ExpectAnswer(answer, AnswerAlone(request, 512));
  EXPECT_EQ(answer.tokens.size(), 3U);
  EXPECT_EQ(answer.end.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.end.stop_token_id, 9);
  EXPECT_FALSE(answer.end.has_token);
}

TEST_F(EngineTest, WithoutStopTokensTheAnswerGoesOnToMaxTokens) {
  Start(SmallOptions());
  Request request = MakeRequest(MakePrompt(10, 2), 20);
  request.sampling.ignore_eos = true;
  request.sampling.logit_bias = {{9, 100.0F}};
  const Answer answer = Ask(request);
  EXPECT_THAT(answer.tokens, AllOf(Each(9), testing::SizeIs(20)));
  EXPECT_EQ(answer.end.finish_reason, FinishReason::kLength);
  EXPECT_TRUE(answer.end.has_token);
}

TEST_F(EngineTest, TheAnswerEndsWhereTheContextEnds) {
  EngineOptions options = SmallOptions();
  options.max_model_len = 100;
  Start(options);
  for (const int prompt_length : {60, 99}) {
    const Request request = MakeRequest(MakePrompt(prompt_length, 3), 1000);
    const Answer answer = Ask(request);
    ExpectAnswer(answer, AnswerAlone(request, 100));
    EXPECT_EQ(answer.tokens.size(), static_cast<size_t>(100 - prompt_length));
    EXPECT_EQ(answer.end.finish_reason, FinishReason::kLength);
  }
}

TEST_F(EngineTest, ATooLongPromptIsRefusedWithBothNumbers) {
  EngineOptions options = SmallOptions();
  options.max_model_len = 100;
  Start(options);
  const Error error = SubmitError(*engine_, MakeRequest(MakePrompt(123, 1), 1));
  EXPECT_EQ(error.code(), ErrorCode::kContextLengthExceeded);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("123"), HasSubstr("100")));
}

TEST_F(EngineTest, APromptThatCanNeverFitIntoTheBlocksIsRefused) {
  EngineOptions options = SmallOptions();
  options.num_kv_blocks = 3;
  Start(options);
  EXPECT_EQ(engine_->options().max_model_len, 96);
  const Error error = SubmitError(*engine_, MakeRequest(MakePrompt(96, 1), 1));
  EXPECT_EQ(error.code(), ErrorCode::kContextLengthExceeded);
  EXPECT_THAT(error.message(), HasSubstr("96"));
  const Request fits = MakeRequest(MakePrompt(95, 1), 5);
  ExpectAnswer(Ask(fits), AnswerAlone(fits, 96));
}

TEST_F(EngineTest, BadRequestsAreRefusedByName) {
  Start(SmallOptions());
  const Error empty = SubmitError(*engine_, MakeRequest({}, 1));
  EXPECT_EQ(empty.code(), ErrorCode::kInvalidArgument);
  for (const TokenId token_id : {-1, kFakeVocabSize}) {
    const Error unknown = SubmitError(*engine_, MakeRequest({1, token_id}, 1));
    EXPECT_EQ(unknown.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(unknown.message(), HasSubstr(std::to_string(token_id)));
  }
  Request bad_top_p = MakeRequest({1}, 1);
  bad_top_p.sampling.top_p = 2.0F;
  EXPECT_THAT(SubmitError(*engine_, bad_top_p).message(), HasSubstr("top_p"));
}

TEST_F(EngineTest, OptionsThatCannotWorkAreRefusedByName) {
  struct Case {
    int EngineOptions::* field;
    int value;
    const char* name;
  };
  for (const Case& spoiled :
       {Case{&EngineOptions::max_num_seqs, 0, "max_num_seqs"},
        Case{&EngineOptions::max_num_batched_tokens, 3, "max_num_batched_tokens"},
        Case{&EngineOptions::max_num_waiting, -1, "max_num_waiting"},
        Case{&EngineOptions::max_model_len, 1, "max_model_len"},
        Case{&EngineOptions::num_kv_blocks, 0, "num_kv_blocks"}}) {
    EngineOptions options = SmallOptions();
    options.*spoiled.field = spoiled.value;
    try {
      Start(options);
      ADD_FAILURE() << spoiled.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.message(), HasSubstr(spoiled.name));
    }
  }
}

TEST_F(EngineTest, WithoutASeedEachRequestHasItsOwn) {
  Start(SmallOptions());
  Request request = MakeRequest(MakePrompt(10, 4), 60);
  request.sampling.seed.reset();
  EXPECT_NE(Ask(request).tokens, Ask(request).tokens);
}

TEST_F(EngineTest, LogprobsComeWithEachToken) {
  Start(SmallOptions());
  Request request = MakeRequest(MakePrompt(10, 4), 5);
  request.sampling.num_logprobs = 3;
  const auto stream = engine_->Submit(request);
  int num_tokens = 0;
  while (const auto output = stream->Pop()) {
    EXPECT_EQ(output->token.top_logprobs.size(), 3U);
    EXPECT_LT(output->token.logprob, 0.0F);
    ++num_tokens;
  }
  EXPECT_EQ(num_tokens, 5);
}

TEST_F(EngineTest, AFaultEndsTheStreamsItTouchedAndTheEngineLivesOn) {
  Start(SmallOptions());
  std::vector<TokenId> poisoned = MakePrompt(40, 5);
  poisoned[20] = kPoisonToken;
  const Answer failed = Ask(MakeRequest(poisoned, 10));
  EXPECT_EQ(failed.end.finish_reason, FinishReason::kError);
  EXPECT_THAT(failed.end.error_message, HasSubstr("forward pass"));
  EXPECT_EQ(engine_->Stats().num_kv_blocks_used, 0);
  poisoned.resize(20);  // nothing of the failed pass may be in the prefix cache
  const Request request = MakeRequest(poisoned, 10);
  const Answer answer = Ask(request);
  ExpectAnswer(answer, AnswerAlone(request, 512));
  EXPECT_EQ(answer.end.num_cached_tokens, 0);
}

TEST_F(EngineTest, AnIdleEngineUsesNoProcessorTime) {
  Start(SmallOptions());
  Ask(MakeRequest(MakePrompt(5, 1), 5));
  const uint64_t num_steps = engine_->Stats().num_steps;
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.03);
  EXPECT_EQ(engine_->Stats().num_steps, num_steps);
  EXPECT_EQ(engine_->Stats().seconds_since_last_step, 0.0);
}

TEST_F(EngineTest, TimingsAndCountsAddUp) {
  control_.before_forward = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  Start(SmallOptions());
  const Answer answer = Ask(MakeRequest(MakePrompt(100, 1), 10));
  const RequestTimings& timings = answer.end.timings;
  EXPECT_GE(timings.queue_ms, 0.0);
  EXPECT_GE(timings.prefill_ms, 4.0);  // two chunks of at most 64
  EXPECT_NEAR(timings.first_token_ms, timings.queue_ms + timings.prefill_ms, 1e-6);
  EXPECT_GE(timings.total_ms, timings.first_token_ms + 9 * 2.0);
  const EngineStats stats = engine_->Stats();
  EXPECT_EQ(stats.num_prompt_tokens, 100U);
  EXPECT_EQ(stats.num_generation_tokens, 10U);
  EXPECT_EQ(stats.num_finished, 1U);
  EXPECT_EQ(stats.num_steps, 11U);
  EXPECT_EQ(stats.num_kv_blocks, 40);
  EXPECT_EQ(stats.num_requests_running + stats.num_requests_waiting, 0);
}

TEST_F(EngineTest, TheNextTurnFindsPromptAndAnswerInTheCache) {
  Start(SmallOptions());
  for (const int prompt_length : {3, 40, 64}) {
    SCOPED_TRACE(prompt_length);
    Request first = MakeRequest(MakePrompt(prompt_length, 6), 37);
    const Answer answer = Ask(first);
    Request second = first;
    second.prompt.insert(second.prompt.end(), answer.tokens.begin(), answer.tokens.end());
    const auto num_known = static_cast<int>(second.prompt.size());
    const std::vector<TokenId> question = MakePrompt(21, 7);
    second.prompt.insert(second.prompt.end(), question.begin(), question.end());
    const Answer next = Ask(second);
    ExpectAnswer(next, AnswerAlone(second, 512));
    EXPECT_EQ(next.end.num_cached_tokens, num_known - 1);  // the last token was never computed
  }
}

TEST_F(EngineTest, TheSamePromptAgainComputesOneToken) {
  Start(SmallOptions());
  const Request request = MakeRequest(MakePrompt(96, 8), 1);
  EXPECT_EQ(Ask(request).end.num_cached_tokens, 0);
  const int num_forwards = control_.num_forwards;
  const Answer again = Ask(request);
  ExpectAnswer(again, AnswerAlone(request, 512));
  EXPECT_EQ(again.end.num_cached_tokens, 95);
  EXPECT_EQ(control_.num_forwards, num_forwards + 1);
  EXPECT_EQ(control_.Batches().back().num_tokens, std::vector<int>{1});
  EXPECT_EQ(engine_->Stats().num_cached_tokens, 95U);
}

TEST_F(EngineTest, ASaltOrASwitchKeepsCachesApart) {
  Start(SmallOptions());
  Request request = MakeRequest(MakePrompt(96, 8), 1);
  request.cache_salt = "a";
  Ask(request);
  request.cache_salt = "b";
  EXPECT_EQ(Ask(request).end.num_cached_tokens, 0);
  request.cache_salt = "a";
  EXPECT_EQ(Ask(request).end.num_cached_tokens, 95);

  EngineOptions options = SmallOptions();
  options.enable_prefix_caching = false;
  Start(options);
  EXPECT_EQ(Ask(request).end.num_cached_tokens, 0);
  EXPECT_EQ(Ask(request).end.num_cached_tokens, 0);
}

}  // namespace
}  // namespace whinchat
