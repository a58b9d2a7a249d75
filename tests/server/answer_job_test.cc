// SPDX-License-Identifier: Apache-2.0
#include "server/answer_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/chat_answer.h"
#include "api/sse_events.h"
#include "server/fake_exchange.h"
#include "server/fake_generator.h"
#include "server/test_loop.h"

namespace whinchat {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class AnswerJobTest : public ::testing::Test {
 protected:
  // Starts the answer to a chat request with these fields.
  void Start(FakeGenerator& generator, const std::string& fields) {
    const ChatRequest request =
        ParseChatRequest(fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}]{}{}}})",
                                     fields.empty() ? "" : ",",
                                     fields),
                         {});
    PreparedAnswer prepared;
    prepared.stream = request.stream;
    prepared.choices_per_prompt = request.num_choices;
    prepared.answer = std::make_unique<ChatAnswer>(
        AnswerIdentity{"chatcmpl-1", 7, "m"}, request, [](TokenId) { return std::string("t"); });
    for (int i = 0; i < request.num_choices; ++i) {
      prepared.generations.push_back(
          generator.GenerateChat(request.messages, request.template_options, request.options));
    }
    AnswerJob::Start(
        exchange_,
        std::move(prepared),
        {loop_.queue(), &workers_, &metrics_, [this](std::string_view line) { log_ += line; }});
  }

  bool RunUntilComplete() {
    return loop_.RunUntil([this] { return exchange_->is_complete; });
  }

  TestLoop loop_;
  Metrics metrics_;
  std::shared_ptr<FakeExchange> exchange_ = std::make_shared<FakeExchange>();
  std::string log_;
  WorkerPool workers_{1};
};

TEST_F(AnswerJobTest, SendsAWholeBody) {
  FakeGenerator generator;
  Start(generator, "");
  ASSERT_TRUE(RunUntilComplete());
  EXPECT_FALSE(exchange_->is_streaming);
  const json body = json::parse(exchange_->response.body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "w0w1w2");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens"], 3);
}

TEST_F(AnswerJobTest, StreamsWordsAsTheyComeFromAnotherThread) {
  FakeGenerator generator({.num_words = 5, .interval = milliseconds(5)});
  Start(generator, R"("stream":true,"stream_options":{"include_usage":true})");
  EXPECT_TRUE(exchange_->is_streaming);
  EXPECT_THAT(exchange_->response.body, HasSubstr(R"("role":"assistant")"));  // before any word
  ASSERT_TRUE(
      loop_.RunUntil([&] { return exchange_->response.body.find("w1") != std::string::npos; }));
  EXPECT_FALSE(exchange_->is_complete);
  ASSERT_TRUE(RunUntilComplete());
  const auto events = ReadSseEvents(exchange_->response.body);
  ASSERT_EQ(events.size(), 8U);  // role, five words, finish, usage
  EXPECT_EQ(events[7]["usage"]["completion_tokens"], 5);
}

TEST_F(AnswerJobTest, CountsThePromptOnceForSeveralChoices) {
  FakeGenerator generator;
  Start(generator, R"("n":3)");
  ASSERT_TRUE(RunUntilComplete());
  const json body = json::parse(exchange_->response.body);
  EXPECT_EQ(body["choices"].size(), 3U);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 7);  // "<user>x"
  EXPECT_EQ(body["usage"]["completion_tokens"], 9);
}

TEST_F(AnswerJobTest, AClientThatLeavesEndsAllItsGenerations) {
  FakeGenerator generator({.num_words = 100000, .interval = milliseconds(1)});
  Start(generator, R"("stream":true,"n":2)");
  EXPECT_EQ(generator.num_running(), 2);
  ASSERT_TRUE(
      loop_.RunUntil([&] { return exchange_->response.body.find("w1") != std::string::npos; }));
  exchange_->Leave();
  EXPECT_EQ(generator.num_running(), 0);
  EXPECT_FALSE(exchange_->is_observed());
  EXPECT_THAT(metrics_.Expose({}, "m"), HasSubstr("finished_reason=\"abort\"} 1"));
}

TEST_F(AnswerJobTest, AClientThatLeavesBeforeTheFirstPieceIsNoticedToo) {
  exchange_->Leave();
  FakeGenerator quick({.num_words = 100000, .interval = milliseconds(1)});
  Start(quick, "");
  EXPECT_EQ(quick.num_running(), 0);
  EXPECT_FALSE(exchange_->is_complete);
}

TEST_F(AnswerJobTest, ASlowReaderBoundsTheBuffer) {
  FakeGenerator generator({.num_words = 3000, .word = std::string(1000, 'x')});
  exchange_->is_slow = true;
  Start(generator, R"("stream":true,"max_tokens":3000)");
  size_t largest = 0;
  const bool is_done = loop_.RunUntil([&] {
    largest = std::max(largest, exchange_->unsent.size());
    exchange_->ReadAll();
    return exchange_->is_complete;
  });
  ASSERT_TRUE(is_done);
  EXPECT_LT(largest, 300'000U);  // of 3.5 MB
  EXPECT_EQ(ReadSseEvents(exchange_->response.body).size(), 3002U);
}

TEST_F(AnswerJobTest, AnEngineFaultBeforeAnyByteIsAnError) {
  FakeGenerator generator({.fail_after_words = 0});
  Start(generator, "");
  ASSERT_TRUE(RunUntilComplete());
  EXPECT_EQ(exchange_->response.status, 500);
  EXPECT_THAT(exchange_->response.body, HasSubstr("The engine broke."));
  EXPECT_THAT(log_, HasSubstr("The engine broke."));
}

TEST_F(AnswerJobTest, AnEngineFaultInAStreamIsItsLastEvent) {
  FakeGenerator generator({.interval = milliseconds(1), .fail_after_words = 1});
  Start(generator, R"("stream":true)");
  ASSERT_TRUE(RunUntilComplete());
  const auto events = ReadSseEvents(exchange_->response.body);
  EXPECT_EQ(events.back()["error"]["message"], "The engine broke.");
  EXPECT_EQ(generator.num_running(), 0);
}

TEST_F(AnswerJobTest, MeasuresTheRequest) {
  FakeGenerator generator({.num_words = 4, .interval = milliseconds(2)});
  Start(generator, "");
  ASSERT_TRUE(RunUntilComplete());
  const std::string text = metrics_.Expose({}, "m");
  const std::string labels = "{model_name=\"m\",engine=\"0\"} ";
  EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_count" + labels + "1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:inter_token_latency_seconds_count" + labels + "3\n"));
  EXPECT_THAT(text, HasSubstr("vllm:request_generation_tokens_sum" + labels + "4\n"));
  EXPECT_THAT(text, HasSubstr("vllm:request_queue_time_seconds_sum" + labels + "0.001\n"));
}

}  // namespace
}  // namespace whinchat
