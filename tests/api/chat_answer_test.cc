// SPDX-License-Identifier: Apache-2.0
#include "api/chat_answer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "api/sse_events.h"

namespace whinchat {
namespace {

using nlohmann::json;

ChatAnswer Answer(const std::string& fields) {
  const ChatRequest request =
      ParseChatRequest(fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}]{}{}}})",
                                   fields.empty() ? "" : ",",
                                   fields),
                       {});
  return {{"chatcmpl-1", 7, "served"}, request, [](TokenId id) {
            return id == 9 ? std::string("\xe4\xbd") : fmt::format("t{}", id);
          }};
}

GenerationDelta Piece(std::string content,
                      std::string reasoning = "",
                      FinishReason finish = FinishReason::kNone) {
  GenerationDelta delta;
  delta.content = std::move(content);
  delta.reasoning_content = std::move(reasoning);
  delta.finish_reason = finish;
  return delta;
}

TEST(ChatAnswer, BodyIsAChatCompletion) {
  ChatAnswer answer = Answer("");
  answer.Collect(0, Piece("Hel"));
  GenerationDelta last = Piece("lo", "", FinishReason::kStop);
  last.stop_reason = "END";
  answer.Collect(0, last);
  const json body = json::parse(
      answer.Body({.num_prompt_tokens = 3, .num_completion_tokens = 2, .num_reasoning_tokens = 1}));
  EXPECT_EQ(body["id"], "chatcmpl-1");
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["created"], 7);
  EXPECT_EQ(body["model"], "served");
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"], (json{{"role", "assistant"}, {"content", "Hello"}}));
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["stop_reason"], "END");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["total_tokens"], 5);
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 1);
}

TEST(ChatAnswer, ThoughtHasBothNamesAndContentIsNeverNull) {
  ChatAnswer answer = Answer("");
  answer.Collect(0, Piece("", "hmm", FinishReason::kLength));
  const json message = json::parse(answer.Body({}))["choices"][0]["message"];
  EXPECT_EQ(message["reasoning_content"], "hmm");
  EXPECT_EQ(message["reasoning"], "hmm");
  EXPECT_EQ(message["content"], "");
}

TEST(ChatAnswer, ThoughtIsHiddenOnRequest) {
  ChatAnswer answer = Answer(R"("include_reasoning":false)");
  answer.Collect(0, Piece("a", "hmm", FinishReason::kStop));
  const json message = json::parse(answer.Body({}))["choices"][0]["message"];
  EXPECT_EQ(message, (json{{"role", "assistant"}, {"content", "a"}}));
  ChatAnswer streamed = Answer(R"("include_reasoning":false,"stream":true)");
  EXPECT_EQ(streamed.StreamDelta(0, Piece("", "hmm"), {}), "");
}

TEST(ChatAnswer, LogprobsListEachTokenWithItsBytes) {
  ChatAnswer answer = Answer(R"("logprobs":true,"top_logprobs":1)");
  GenerationDelta delta = Piece("x", "", FinishReason::kStop);
  delta.logprobs = {{9, -0.5F, {{2, -0.25F}}}, {4, -std::numeric_limits<float>::infinity(), {}}};
  answer.Collect(0, delta);
  const json content = json::parse(answer.Body({}))["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[0]["token"], "\xEF\xBF\xBD");      // half a character, as text
  EXPECT_EQ(content[0]["bytes"], (json{0xe4, 0xbd}));  // and as it is
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["top_logprobs"][0]["token"], "t2");
  EXPECT_EQ(content[0]["top_logprobs"][0]["logprob"], -0.25);
  EXPECT_EQ(content[1]["logprob"], -9999.0);
}

constexpr const char* kTools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
constexpr const char* kCall =
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>";

TEST(ChatToolCalls, AreTheAnswerAndSaySo) {
  ChatAnswer answer = Answer(kTools);
  answer.Collect(0, Piece(kCall, "", FinishReason::kStop));
  const json choice = json::parse(answer.Body({}))["choices"][0];
  EXPECT_TRUE(choice["message"]["content"].is_null());
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U);
  const json& call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["function"]["name"], "f");
  EXPECT_EQ(json::parse(call["function"]["arguments"].get<std::string>()), (json{{"x", 1}}));
  EXPECT_FALSE(call["id"].get<std::string>().empty());
}

TEST(ChatToolCalls, StreamWithTheirIndexWhereverTheTextIsCut) {
  ChatAnswer answer = Answer(std::string(kTools) + R"(,"stream":true)");
  const std::string text = std::string(kCall) + "\n" + kCall;
  std::string stream;
  for (const char c : text) {
    stream += answer.StreamDelta(0, Piece(std::string(1, c)), {});
  }
  stream += answer.StreamDelta(0, Piece("", "", FinishReason::kStop), {}) + answer.StreamEnd({});
  const std::vector<json> events = ReadSseEvents(stream);
  ASSERT_EQ(events.size(), 3U);
  for (int i = 0; i < 2; ++i) {
    const json& delta = events[static_cast<size_t>(i)]["choices"][0]["delta"];
    EXPECT_EQ(delta["tool_calls"][0]["index"], i);
    EXPECT_EQ(delta["tool_calls"][0]["function"]["name"], "f");
    EXPECT_FALSE(delta.contains("content"));
  }
  EXPECT_EQ(events[2]["choices"][0]["finish_reason"], "tool_calls");
}

TEST(ChatToolCalls, ATextThatLooksLikeOneStaysTextWithoutTools) {
  ChatAnswer answer = Answer("");
  answer.Collect(0, Piece(kCall, "", FinishReason::kStop));
  const json choice = json::parse(answer.Body({}))["choices"][0];
  EXPECT_EQ(choice["message"]["content"], kCall);
  EXPECT_EQ(choice["finish_reason"], "stop");
}

TEST(ChatToolCalls, AnAnswerThatOnlySoundsLikeACallIsContent) {
  ChatAnswer answer = Answer(kTools);
  answer.Collect(0, Piece("<tool_call>not json</tool_call>", "", FinishReason::kLength));
  const json choice = json::parse(answer.Body({}))["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "<tool_call>not json</tool_call>");
  EXPECT_EQ(choice["finish_reason"], "length");
}

TEST(ChatStream, GoesFromRoleToDone) {
  ChatAnswer answer = Answer(R"("stream":true)");
  std::string stream = answer.StreamBegin();
  stream += answer.StreamDelta(0, Piece("", "hmm"), {});
  stream += answer.StreamDelta(0, Piece(""), {});
  stream += answer.StreamDelta(0, Piece("Hi"), {});
  stream += answer.StreamDelta(0, Piece("!", "", FinishReason::kStop), {});
  stream += answer.StreamEnd({});
  const std::vector<json> events = ReadSseEvents(stream);
  ASSERT_EQ(events.size(), 5U);
  for (const json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], "chatcmpl-1");
    EXPECT_EQ(event["model"], "served");
    EXPECT_FALSE(event.contains("usage"));  // nobody asked
    EXPECT_EQ(event["choices"].size(), 1U);
  }
  EXPECT_EQ(events[0]["choices"][0]["delta"], (json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(events[1]["choices"][0]["delta"],
            (json{{"reasoning_content", "hmm"}, {"reasoning", "hmm"}}));
  EXPECT_EQ(events[2]["choices"][0]["delta"], (json{{"content", "Hi"}}));
  EXPECT_TRUE(events[3]["choices"][0]["finish_reason"].is_null());
  EXPECT_EQ(events[4]["choices"][0]["delta"], json::object());
  EXPECT_EQ(events[4]["choices"][0]["finish_reason"], "stop");
}

TEST(ChatStream, UsageChunkHasNoChoicesAndOthersHaveNullUsage) {
  ChatAnswer answer = Answer(R"("stream":true,"stream_options":{"include_usage":true})");
  const std::vector<json> events = ReadSseEvents(
      answer.StreamBegin() + answer.StreamDelta(0, Piece("a", "", FinishReason::kStop), {}) +
      answer.StreamEnd({.num_prompt_tokens = 1, .num_completion_tokens = 1}));
  ASSERT_EQ(events.size(), 4U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(events[i].contains("usage") && events[i]["usage"].is_null());
  }
  EXPECT_EQ(events[3]["choices"], json::array());
  EXPECT_EQ(events[3]["usage"]["total_tokens"], 2);
}

TEST(ChatStream, ContinuousUsageCountsOnEveryChunk) {
  ChatAnswer answer = Answer(R"("stream":true,"stream_options":{"continuous_usage_stats":true})");
  const std::vector<json> events = ReadSseEvents(
      answer.StreamDelta(0, Piece("a"), {.num_prompt_tokens = 1, .num_completion_tokens = 1}) +
      answer.StreamEnd({.num_prompt_tokens = 1, .num_completion_tokens = 1}));
  EXPECT_EQ(events[0]["usage"]["completion_tokens"], 1);
}

TEST(ChatStream, EachOfSeveralChoicesHasItsRoleAndItsEnd) {
  ChatAnswer answer = Answer(R"("stream":true,"n":2)");
  const std::vector<json> events = ReadSseEvents(
      answer.StreamBegin() + answer.StreamDelta(1, Piece("b", "", FinishReason::kStop), {}) +
      answer.StreamDelta(0, Piece("a", "", FinishReason::kLength), {}) + answer.StreamEnd({}));
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0]["choices"][0]["index"], 0);
  EXPECT_EQ(events[1]["choices"][0]["index"], 1);
  EXPECT_EQ(events[2]["choices"][0]["index"], 1);
  EXPECT_EQ(events[3]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(events[5]["choices"][0]["finish_reason"], "length");
}

TEST(ChatStream, ATextWithNewlinesStaysOneEvent) {
  ChatAnswer answer = Answer(R"("stream":true)");
  const std::string stream = answer.StreamDelta(0, Piece("a\n\ndata: b"), {});
  EXPECT_EQ(ReadSseEvents(stream + answer.StreamEnd({}))[0]["choices"][0]["delta"]["content"],
            "a\n\ndata: b");
}

TEST(MakeAnswerId, NeverRepeats) {
  EXPECT_NE(MakeAnswerId("chatcmpl"), MakeAnswerId("chatcmpl"));
  EXPECT_EQ(MakeAnswerId("cmpl").rfind("cmpl-", 0), 0U);
}

}  // namespace
}  // namespace whinchat
