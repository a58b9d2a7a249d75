// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/completion_answer.h"
#include "api/completion_request.h"
#include "api/expect_api_error.h"
#include "api/sse_events.h"

namespace whinchat {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RequestDefaults Defaults() {
  RequestDefaults defaults;
  defaults.vocab_size = 100;
  return defaults;
}

CompletionRequest Parse(const std::string& fields) {
  return ParseCompletionRequest(fmt::format("{{{}}}", fields), Defaults());
}

std::string TokenText(TokenId id) {
  return id == 3 ? "é" : fmt::format("t{}", id);
}

GenerationDelta Piece(std::string content, FinishReason finish = FinishReason::kNone) {
  GenerationDelta delta;
  delta.content = std::move(content);
  delta.finish_reason = finish;
  return delta;
}

TEST(CompletionPrompt, TakesAllFourShapes) {
  EXPECT_THAT(Parse(R"("prompt":"a")").prompts, ElementsAre(CompletionPrompt("a")));
  EXPECT_THAT(Parse(R"("prompt":["a","b"])").prompts,
              ElementsAre(CompletionPrompt("a"), CompletionPrompt("b")));
  EXPECT_THAT(Parse(R"("prompt":[1,2])").prompts,
              ElementsAre(CompletionPrompt(std::vector<TokenId>{1, 2})));
  EXPECT_THAT(Parse(R"("prompt":[[1],[2,3]])").prompts,
              ElementsAre(CompletionPrompt(std::vector<TokenId>{1}),
                          CompletionPrompt(std::vector<TokenId>{2, 3})));
}

TEST(CompletionPrompt, WrongOnesAreRefused) {
  for (const char* fields : {R"("a":1)",
                             R"("prompt":null)",
                             R"("prompt":5)",
                             R"("prompt":{})",
                             R"("prompt":[])",
                             R"("prompt":[[]])",
                             R"("prompt":[1,"a"])",
                             R"("prompt":["a",[true]])",
                             R"("prompt":[100])",
                             R"("prompt":[-1])",
                             R"("prompt":[1.5])",
                             R"("prompt":[99999999999999])"}) {
    const ErrorReply reply = RefusalOf([&] { Parse(fields); });
    EXPECT_EQ(reply.http_status, 400) << fields;
    EXPECT_EQ(reply.param, "prompt") << fields;
  }
}

TEST(CompletionFields, LogprobsIsANumberHere) {
  EXPECT_EQ(Parse(R"("prompt":"a","logprobs":5)").options.sampling.num_logprobs, 5);
  EXPECT_EQ(RefusalOf([] { Parse(R"("prompt":"a","logprobs":true)"); }).param, "logprobs");
  EXPECT_EQ(RefusalOf([] { Parse(R"("prompt":"a","logprobs":21)"); }).param, "logprobs");
  EXPECT_EQ(RefusalOf([] { Parse(R"("prompt":"a","logprobs":1,"echo":true)"); }).param, "logprobs");
}

TEST(CompletionFields, EchoAloneMayAskForNoTokens) {
  EXPECT_EQ(Parse(R"("prompt":"a","echo":true,"max_tokens":0)").options.sampling.max_tokens, 0);
  EXPECT_EQ(RefusalOf([] { Parse(R"("prompt":"a","max_tokens":0)"); }).param, "max_tokens");
}

TEST(CompletionAnswer, BodyHasEveryChoiceOfEveryPrompt) {
  const CompletionRequest request = Parse(R"("prompt":["a","b"],"n":2,"echo":true)");
  CompletionAnswer answer({"cmpl-1", 7, "m"}, request, {"a", "b"}, TokenText);
  for (int i = 0; i < 4; ++i) {
    answer.Collect(i, Piece(fmt::format("x{}", i)));
    answer.Collect(i, Piece("!", i == 3 ? FinishReason::kLength : FinishReason::kStop));
  }
  Usage usage;
  usage.num_prompt_tokens = 5;
  usage.num_completion_tokens = 8;
  usage.num_cached_tokens = 2;
  const json body = json::parse(answer.Body(usage));
  EXPECT_EQ(body["object"], "text_completion");
  ASSERT_EQ(body["choices"].size(), 4U);
  EXPECT_EQ(body["choices"][0]["text"], "ax0!");
  EXPECT_EQ(body["choices"][1]["text"], "ax1!");
  EXPECT_EQ(body["choices"][2]["text"], "bx2!");
  EXPECT_EQ(body["choices"][3]["index"], 3);
  EXPECT_EQ(body["choices"][2]["finish_reason"], "stop");
  EXPECT_EQ(body["choices"][3]["finish_reason"], "length");
  EXPECT_TRUE(body["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(body["usage"]["total_tokens"], 13);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
}

TEST(CompletionAnswer, LogprobsAreFourParallelLists) {
  CompletionAnswer answer({"cmpl-1", 7, "m"}, Parse(R"("prompt":"a","logprobs":2)"), {}, TokenText);
  GenerationDelta delta = Piece("ét4", FinishReason::kStop);
  delta.logprobs = {{3, -0.5F, {{3, -0.5F}, {4, -1.5F}}},
                    {4, -std::numeric_limits<float>::infinity(), {{7, -0.25F}}}};
  answer.Collect(0, delta);
  const json logprobs = json::parse(answer.Body({}))["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], (json{"é", "t4"}));
  EXPECT_EQ(logprobs["text_offset"], (json{0, 1}));  // code points, not bytes
  EXPECT_EQ(logprobs["token_logprobs"], (json{-0.5, -9999.0}));
  EXPECT_EQ(logprobs["top_logprobs"][0], (json{{"é", -0.5}, {"t4", -1.5}}));
  EXPECT_EQ(logprobs["top_logprobs"][1], (json{{"t7", -0.25}, {"t4", -9999.0}}));
}

TEST(CompletionAnswer, StreamCarriesTextThenFinishThenUsageThenDone) {
  const CompletionRequest request =
      Parse(R"("prompt":"a","echo":true,"stream":true,"stream_options":{"include_usage":true})");
  CompletionAnswer answer({"cmpl-1", 7, "m"}, request, {"a"}, TokenText);
  std::string stream = answer.StreamBegin();
  stream += answer.StreamDelta(0, Piece("b"), {});
  stream += answer.StreamDelta(0, Piece(""), {});
  stream += answer.StreamDelta(0, Piece("c", FinishReason::kLength), {});
  stream += answer.StreamEnd({.num_prompt_tokens = 1, .num_completion_tokens = 2});
  const std::vector<json> events = ReadSseEvents(stream);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0]["choices"][0]["text"], "a");
  EXPECT_EQ(events[1]["choices"][0]["text"], "b");
  EXPECT_TRUE(events[1]["choices"][0]["finish_reason"].is_null());
  EXPECT_EQ(events[2]["choices"][0]["text"], "c");
  EXPECT_EQ(events[2]["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(events[3]["choices"].empty());
  EXPECT_EQ(events[3]["usage"]["total_tokens"], 3);
}

TEST(CompletionAnswer, StreamedOffsetsGoOnFromChunkToChunk) {
  CompletionAnswer answer(
      {"cmpl-1", 7, "m"}, Parse(R"("prompt":"a","logprobs":0,"stream":true)"), {}, TokenText);
  GenerationDelta first = Piece("é");
  first.logprobs = {{3, -1.0F, {}}};
  GenerationDelta second = Piece("t4", FinishReason::kStop);
  second.logprobs = {{4, -1.0F, {}}};
  std::string stream = answer.StreamDelta(0, first, {});
  stream += answer.StreamDelta(0, second, {});
  const std::vector<json> events = ReadSseEvents(stream + answer.StreamEnd({}));
  EXPECT_EQ(events[0]["choices"][0]["logprobs"]["text_offset"], (json{0}));
  EXPECT_EQ(events[1]["choices"][0]["logprobs"]["text_offset"], (json{1}));
}

}  // namespace
}  // namespace whinchat
