// SPDX-License-Identifier: Apache-2.0
#include "api/chat_request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/expect_api_error.h"

namespace whinchat {
namespace {

using ::testing::HasSubstr;

ChatRequest Parse(const std::string& messages, const std::string& more = "") {
  return ParseChatRequest(
      fmt::format("{{\"messages\":{}{}{}}}", messages, more.empty() ? "" : ",", more), {});
}

Message OnlyMessage(const std::string& message) {
  const ChatRequest request = Parse(fmt::format("[{}]", message));
  return request.messages.at(0);
}

TEST(ChatMessages, KeepTheirOrderRolesAndText) {
  const ChatRequest request = Parse(
      R"([{"role":"system","content":"s"},{"role":"user","content":"你是谁？"},
          {"role":"assistant","content":"a"},{"role":"user","content":"u","name":"ann"}])");
  ASSERT_EQ(request.messages.size(), 4U);
  EXPECT_EQ(request.messages[0].role, "system");
  EXPECT_EQ(request.messages[1].content, "你是谁？");
  EXPECT_EQ(request.messages[2].role, "assistant");
  EXPECT_EQ(request.messages[3].name, "ann");
}

TEST(ChatMessages, DeveloperIsSystem) {
  EXPECT_EQ(OnlyMessage(R"({"role":"developer","content":"x"})").role, "system");
}

TEST(ChatMessages, TextPartsAreJoinedByNewlines) {
  EXPECT_EQ(OnlyMessage(R"({"role":"user","content":[{"type":"text","text":"a"},
                            {"type":"text","text":"b"}]})")
                .content,
            "a\nb");
}

TEST(ChatMessages, NullAndAbsentContentAreEmpty) {
  EXPECT_EQ(OnlyMessage(R"({"role":"assistant","content":null})").content, "");
  EXPECT_EQ(OnlyMessage(R"({"role":"assistant"})").content, "");
}

TEST(ChatMessages, TheThoughtIsReadFromEitherName) {
  EXPECT_EQ(OnlyMessage(R"({"role":"assistant","reasoning_content":"r"})").reasoning_content, "r");
  EXPECT_EQ(OnlyMessage(R"({"role":"assistant","reasoning":"r"})").reasoning_content, "r");
}

TEST(ChatMessages, ToolCallsAndTheirResultsAreKept) {
  const ChatRequest request = Parse(
      R"([{"role":"assistant","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
            {"id":"c2","type":"function","function":{"name":"g","arguments":{"y":[2]}}}]},
          {"role":"tool","tool_call_id":"c1","content":"42"}])");
  ASSERT_EQ(request.messages[0].tool_calls.size(), 2U);
  EXPECT_EQ(request.messages[0].tool_calls[0].name, "f");
  EXPECT_EQ(request.messages[0].tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(request.messages[0].tool_calls[1].arguments, R"({"y":[2]})");
  EXPECT_EQ(request.messages[1].tool_call_id, "c1");
}

TEST(ChatMessages, WrongOnesAreNamedByPlace) {
  const auto param = [](const char* messages) {
    const ErrorReply reply = RefusalOf([&] { Parse(messages); });
    EXPECT_EQ(reply.http_status, 400);
    EXPECT_THAT(reply.message, HasSubstr(reply.param));
    return reply.param;
  };
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_EQ(param("5"), "messages");
  EXPECT_EQ(param("null"), "messages");
  EXPECT_EQ(param("[5]"), "messages[0]");
  EXPECT_EQ(param(R"([{"content":"x"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role":"king","content":"x"}])"), "messages[0].role");
  EXPECT_EQ(param(R"([{"role":"user","content":"x"},{"role":1}])"), "messages[1].role");
  EXPECT_EQ(param(R"([{"role":"user","content":5}])"), "messages[0].content");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"image_url"}]}])"),
            "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"text"}]}])"),
            "messages[0].content[0].text");
  EXPECT_EQ(param(R"([{"role":"assistant","tool_calls":[{}]}])"),
            "messages[0].tool_calls[0].function");
  EXPECT_EQ(param(R"([{"role":"assistant","tool_calls":[{"function":{}}]}])"),
            "messages[0].tool_calls[0].function.name");
}

TEST(ChatTools, KeepTheOrderTheClientWrote) {
  const std::string tools =
      R"([{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}])";
  const ChatRequest request =
      Parse(R"([{"role":"user","content":"x"}])", fmt::format("\"tools\":{}", tools));
  EXPECT_EQ(request.template_options.tools.dump(), tools);
}

TEST(ChatTools, NoneHidesThemFromTheTemplate) {
  const ChatRequest request =
      Parse(R"([{"role":"user","content":"x"}])",
            R"("tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}])");
  EXPECT_TRUE(request.template_options.tools.empty());
}

TEST(ChatTools, WrongOrUnsupportedOnesAreNamed) {
  const auto param = [](const char* more) {
    return RefusalOf([&] { Parse(R"([{"role":"user","content":"x"}])", more); }).param;
  };
  EXPECT_EQ(param(R"("tools":5)"), "tools");
  EXPECT_EQ(param(R"("tools":[5])"), "tools[0]");
  EXPECT_EQ(param(R"("tools":[{"type":"function"}])"), "tools[0].function");
  EXPECT_EQ(param(R"("tools":[{"type":"function","function":{}}])"), "tools[0].function.name");
  EXPECT_EQ(param(R"("tools":[{"type":"web_search"}])"), "tools[0].type");
  EXPECT_EQ(param(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(param(R"("tool_choice":{"type":"function","function":{"name":"f"}})"), "tool_choice");
  EXPECT_EQ(param(R"("tool_choice":"maybe")"), "tool_choice");
}

TEST(ChatTools, AreAnErrorWhereTheTemplateCannotShowThem) {
  RequestDefaults defaults;
  defaults.template_takes_tools = false;
  const ErrorReply reply = RefusalOf([&] {
    ParseChatRequest(R"({"messages":[{"role":"user","content":"x"}],
                         "tools":[{"type":"function","function":{"name":"f"}}]})",
                     defaults);
  });
  EXPECT_EQ(reply.param, "tools");
}

TEST(ChatTemplateFields, ContinuingTheLastMessageTurnsTheGenerationPromptOff) {
  const std::string messages = R"([{"role":"assistant","content":"x"}])";
  EXPECT_TRUE(Parse(messages).template_options.add_generation_prompt);
  const ChatRequest request = Parse(messages, R"("continue_final_message":true)");
  EXPECT_TRUE(request.template_options.continue_final_message);
  EXPECT_FALSE(request.template_options.add_generation_prompt);
  EXPECT_EQ(RefusalOf([&] {
              Parse(messages, R"("continue_final_message":true,"add_generation_prompt":true)");
            }).param,
            "continue_final_message");
}

TEST(ChatLogprobs, TopLogprobsNeedLogprobs) {
  const std::string messages = R"([{"role":"user","content":"x"}])";
  EXPECT_FALSE(Parse(messages).options.sampling.num_logprobs.has_value());
  EXPECT_EQ(Parse(messages, R"("logprobs":true)").options.sampling.num_logprobs, 0);
  EXPECT_EQ(Parse(messages, R"("logprobs":true,"top_logprobs":5)").options.sampling.num_logprobs,
            5);
  EXPECT_EQ(RefusalOf([&] { Parse(messages, R"("top_logprobs":5)"); }).param, "top_logprobs");
  EXPECT_EQ(RefusalOf([&] { Parse(messages, R"("logprobs":true,"top_logprobs":21)"); }).param,
            "top_logprobs");
  EXPECT_EQ(RefusalOf([&] { Parse(messages, R"("logprobs":5)"); }).param, "logprobs");
}

TEST(ChatReasoning, EverySpellingHidesOrInlinesTheThought) {
  const std::string messages = R"([{"role":"user","content":"x"}])";
  EXPECT_TRUE(Parse(messages).include_reasoning);
  EXPECT_FALSE(Parse(messages, R"("include_reasoning":false)").include_reasoning);
  EXPECT_FALSE(Parse(messages, R"("return_reasoning":false)").include_reasoning);
  EXPECT_TRUE(Parse(messages, R"("return_reasoning":true)").include_reasoning);
  EXPECT_FALSE(Parse(messages, R"("separate_reasoning":false)").options.separate_reasoning);
}

}  // namespace
}  // namespace whinchat
