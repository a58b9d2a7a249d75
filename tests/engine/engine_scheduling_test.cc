// SPDX-License-Identifier: Apache-2.0
// Several requests at once: batches, priorities, preemption, cancellation, bounds, drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/fake_model.h"

namespace whinchat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Holds the engine thread inside Forward until opened.
class Gate {
 public:
  void Wait() {
    num_arrived_.fetch_add(1);
    opened_.wait();
  }
  void Open() { promise_.set_value(); }
  void WaitForArrival() const {
    while (num_arrived_.load() == 0) {
      std::this_thread::yield();
    }
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
  std::atomic<int> num_arrived_ = 0;
};

EngineOptions Options(int max_num_seqs, int max_num_batched_tokens, int num_kv_blocks) {
  EngineOptions options;
  options.max_model_len = 512;
  options.max_num_seqs = max_num_seqs;
  options.max_num_batched_tokens = max_num_batched_tokens;
  options.num_kv_blocks = num_kv_blocks;
  return options;
}

TEST(EngineScheduling, TwelveAnswersTogetherEqualTheSameTwelveAlone) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  Engine engine(MakeFakeModel(&control), Options(12, 40, 100));
  std::vector<Request> requests;
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (uint32_t i = 0; i < 12; ++i) {
    requests.push_back(MakeRequest(MakePrompt(5 + static_cast<int>(i) * 9, i), 50));
    requests.back().sampling.seed = i;
    streams.push_back(engine.Submit(requests.back()));
  }
  gate.Open();
  size_t largest_batch = 0;
  for (size_t i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    ExpectAnswer(ReadAll(*streams[i]), AnswerAlone(requests[i], 512));
  }
  for (const auto& batch : control.Batches()) {
    largest_batch = std::max(largest_batch, batch.num_tokens.size());
    EXPECT_LE(std::accumulate(batch.num_tokens.begin(), batch.num_tokens.end(), 0), 40);
  }
  EXPECT_EQ(largest_batch, 12U);
  EXPECT_EQ(control.num_violations, 0);
}

TEST(EngineScheduling, ALongPromptDoesNotStallARunningDecode) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  Engine engine(MakeFakeModel(&control), Options(2, 16, 40));
  const auto decoding = engine.Submit(MakeRequest(MakePrompt(8, 1), 60));
  gate.WaitForArrival();
  const auto prefilling = engine.Submit(MakeRequest(MakePrompt(300, 2), 1));
  gate.Open();
  ReadAll(*prefilling);
  ReadAll(*decoding);
  int num_mixed = 0;
  for (const auto& batch : control.Batches()) {
    if (batch.num_tokens.size() == 2) {
      EXPECT_EQ(batch.num_tokens[0], 1);  // the decode, first
      EXPECT_LE(batch.num_tokens[1], 15);
      ++num_mixed;
    }
  }
  EXPECT_EQ(num_mixed, 20);  // 300 tokens in chunks of 15
}

TEST(EngineScheduling, CancelInTheMiddleOfALongPrefillTakesEffectWithinOneStep) {
  FakeModelControl control;
  Engine engine(MakeFakeModel(&control), Options(2, 10, 40));
  std::promise<std::shared_ptr<TokenStream>> submitted;
  auto stream_of_request = submitted.get_future().share();
  control.before_forward = [&] {
    if (control.num_forwards == 4) {
      stream_of_request.get()->Cancel();
    }
  };
  const auto stream = engine.Submit(MakeRequest(MakePrompt(300, 2), 10));
  submitted.set_value(stream);
  const Answer answer = ReadAll(*stream);
  EXPECT_EQ(answer.end.finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(answer.tokens.empty());
  EXPECT_EQ(control.num_forwards, 5);  // the one that was running, and no other
  EXPECT_EQ(engine.Stats().num_kv_blocks_used, 0);
  control.before_forward = {};
  const Request again = MakeRequest(MakePrompt(300, 2), 10);
  const Answer resumed = ReadAll(*engine.Submit(again));
  ExpectAnswer(resumed, AnswerAlone(again, 512));
  EXPECT_EQ(resumed.end.num_cached_tokens, 50);  // what was computed before the cancel is kept
}

TEST(EngineScheduling, CancelWhileWaitingAndWhileDecoding) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] {
    gate.Wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  Engine engine(MakeFakeModel(&control), Options(1, 64, 40));
  const auto running = engine.Submit(MakeRequest(MakePrompt(8, 1), 400));
  const auto waiting = engine.Submit(MakeRequest(MakePrompt(8, 2), 400));
  waiting->Cancel();
  gate.Open();
  EXPECT_EQ(ReadAll(*waiting).end.finish_reason, FinishReason::kCancelled);
  running->Pop();
  running->Cancel();
  const Answer answer = ReadAll(*running);
  EXPECT_EQ(answer.end.finish_reason, FinishReason::kCancelled);
  EXPECT_LT(answer.tokens.size(), 399U);
}

TEST(EngineScheduling, TheQueueIsBounded) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  EngineOptions options = Options(1, 64, 40);
  options.max_num_waiting = 2;
  Engine engine(MakeFakeModel(&control), options);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (uint32_t i = 0; i < 3; ++i) {
    streams.push_back(engine.Submit(MakeRequest(MakePrompt(8, i), 5)));
  }
  gate.WaitForArrival();
  EXPECT_EQ(engine.Stats().num_requests_waiting + engine.Stats().num_requests_running, 3);
  try {
    engine.Submit(MakeRequest(MakePrompt(8, 9), 5));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("3 requests"));
  }
  gate.Open();
  for (const auto& stream : streams) {
    EXPECT_EQ(ReadAll(*stream).tokens.size(), 5U);
  }
  EXPECT_EQ(ReadAll(*engine.Submit(MakeRequest(MakePrompt(8, 9), 5))).tokens.size(), 5U);
}

TEST(EngineScheduling, LowerPriorityNumbersGoFirst) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  auto engine = std::make_unique<Engine>(MakeFakeModel(&control), Options(1, 64, 40));
  std::vector<int> finished;  // written on the engine thread, read after it ended
  std::vector<std::shared_ptr<TokenStream>> streams;
  const auto submit = [&](int priority) {
    Request request = MakeRequest(MakePrompt(8, 1), 1);
    request.priority = priority;
    streams.push_back(
        engine->Submit(request, [&finished, priority] { finished.push_back(priority); }));
  };
  submit(100);
  gate.WaitForArrival();  // it runs: the others queue behind it
  for (const int priority : {5, 0, 7, -3}) {
    submit(priority);
  }
  gate.Open();
  EXPECT_TRUE(engine->Drain(60));
  for (const auto& stream : streams) {
    ReadAll(*stream);
  }
  engine.reset();  // a stream may end for its reader before the engine's thread has said so here
  EXPECT_THAT(finished, ElementsAre(100, -3, 0, 5, 7));
}

TEST(EngineScheduling, TheLowestRankedIsPreemptedAndAnswersTheSame) {
  FakeModelControl control;
  Engine engine(MakeFakeModel(&control), Options(2, 64, 8));
  std::vector<Request> requests;
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const int priority : {1, 0}) {  // the later one ranks first
    Request request = MakeRequest(MakePrompt(40, static_cast<uint32_t>(priority)), 150);
    request.priority = priority;
    request.sampling.presence_penalty = 0.5F;
    request.sampling.repetition_penalty = 1.2F;
    requests.push_back(request);
    streams.push_back(engine.Submit(request));
  }
  for (size_t i = 0; i < 2; ++i) {
    ExpectAnswer(ReadAll(*streams[i]), AnswerAlone(requests[i], 256));
  }
  EXPECT_GE(engine.Stats().num_preemptions, 1U);
  int most_computed_again = 0;  // the preempted one starts again behind its cached blocks
  for (const auto& batch : control.Batches()) {
    for (size_t i = 0; i < batch.num_tokens.size(); ++i) {
      if (batch.start_positions[i] > 40) {
        most_computed_again = std::max(most_computed_again, batch.num_tokens[i]);
      }
    }
  }
  EXPECT_LT(most_computed_again, 190);
  EXPECT_EQ(control.num_violations, 0);
}

TEST(EngineScheduling, DrainFinishesWhatRunsAndRefusesTheRest) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  Engine engine(MakeFakeModel(&control), Options(1, 64, 40));
  const auto running = engine.Submit(MakeRequest(MakePrompt(8, 1), 5));
  const auto waiting = engine.Submit(MakeRequest(MakePrompt(8, 2), 5));
  EXPECT_FALSE(engine.Drain(0.01));
  EXPECT_FALSE(engine.Drain(-1.0));
  try {
    engine.Submit(MakeRequest(MakePrompt(8, 3), 5));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
  gate.Open();
  EXPECT_TRUE(engine.Drain(1e300));
  EXPECT_EQ(ReadAll(*running).tokens.size(), 5U);
  EXPECT_EQ(ReadAll(*waiting).tokens.size(), 5U);
}

TEST(EngineScheduling, DestroyingTheEngineCancelsEverything) {
  FakeModelControl control;
  control.before_forward = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  std::vector<std::shared_ptr<TokenStream>> streams;
  {
    Engine engine(MakeFakeModel(&control), Options(2, 64, 40));
    for (uint32_t i = 0; i < 5; ++i) {
      streams.push_back(engine.Submit(MakeRequest(MakePrompt(8, i), 450)));
    }
    streams[0]->Pop();
  }
  for (const auto& stream : streams) {
    EXPECT_EQ(ReadAll(*stream).end.finish_reason, FinishReason::kCancelled);
  }
}

TEST(EngineScheduling, SecondsSinceLastStepGrowWhileAStepHangs) {
  FakeModelControl control;
  Gate gate;
  control.before_forward = [&] { gate.Wait(); };
  Engine engine(MakeFakeModel(&control), Options(1, 64, 40));
  EXPECT_EQ(engine.Stats().seconds_since_last_step, 0.0);
  const auto stream = engine.Submit(MakeRequest(MakePrompt(8, 1), 2));
  gate.WaitForArrival();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(engine.Stats().seconds_since_last_step, 0.05);
  gate.Open();
  ReadAll(*stream);
  EXPECT_EQ(engine.Stats().seconds_since_last_step, 0.0);
}

}  // namespace
}  // namespace whinchat
