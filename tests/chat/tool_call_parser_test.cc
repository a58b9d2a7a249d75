// SPDX-License-Identifier: Apache-2.0
#include "chat/tool_call_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whinchat {
namespace {

struct Parsed {
  std::string content;
  std::vector<std::string> calls;  // "id name arguments"
  bool operator==(const Parsed&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Parsed& parsed) {
  return stream << '[' << parsed.content << "] " << testing::PrintToString(parsed.calls);
}

Parsed Parse(std::string_view text, size_t piece_size) {
  int num_ids = 0;
  ToolCallParser parser([&] { return "id" + std::to_string(num_ids++); });
  Parsed parsed;
  const auto add = [&](const ToolCallDelta& delta) {
    parsed.content += delta.content;
    for (const ToolCall& call : delta.tool_calls) {
      parsed.calls.push_back(call.id + " " + call.name + " " + call.arguments);
    }
  };
  for (size_t i = 0; i < text.size(); i += piece_size) {
    add(parser.Append(text.substr(i, piece_size)));
  }
  add(parser.Flush());
  EXPECT_EQ(parser.num_tool_calls(), static_cast<int>(parsed.calls.size()));
  return parsed;
}

void ExpectParsed(std::string_view text, const Parsed& expected) {
  for (size_t piece_size = 1; piece_size <= text.size() + 1; ++piece_size) {
    EXPECT_EQ(Parse(text, piece_size), expected) << text << " in pieces of " << piece_size;
  }
}

TEST(ToolCallParser, FindsOneCall) {
  ExpectParsed(
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"\u5317\"}}\n"
      "</tool_call>",
      {"", {"id0 f {\"b\":1,\"a\":\"\u5317\"}"}});
}

TEST(ToolCallParser, FindsSeveralCallsAfterText) {
  ExpectParsed(
      "I'll look.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
      "<tool_call>{\"name\":\"g\"}</tool_call>\n",
      {"I'll look.", {"id0 f {}", "id1 g {}"}});
}

TEST(ToolCallParser, AcceptsArgumentsAsTextAndLlamasNameForThem) {
  ExpectParsed("<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}</tool_call>",
               {"", {"id0 f {\"x\": 1}"}});
  ExpectParsed("<tool_call>{\"name\":\"f\",\"parameters\":{\"x\":1}}</tool_call>",
               {"", {"id0 f {\"x\":1}"}});
}

TEST(ToolCallParser, MalformedJsonIsGivenBackAsText) {
  for (const std::string_view text : {"<tool_call>{\"name\": \"f\", }</tool_call>",
                                      "<tool_call>[1]</tool_call>",
                                      "<tool_call>{\"name\": 1}</tool_call>",
                                      "<tool_call></tool_call>",
                                      "<tool_call>{\"name\": \"f\"",
                                      "<tool_call"}) {
    ExpectParsed(text, {std::string(text), {}});
  }
  ExpectParsed("<tool_call>x</tool_call><tool_call>{\"name\":\"f\"}</tool_call>",
               {"<tool_call>x</tool_call>", {"id0 f {}"}});
}

TEST(ToolCallParser, ALastCallWithoutItsClosingTagCountsWhenItsJsonIsWhole) {
  ExpectParsed("<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n", {"", {"id0 f {}"}});
}

TEST(ToolCallParser, JsonNestedTooDeeplyIsText) {
  const std::string text = "<tool_call>" + std::string(100000, '[') + "</tool_call>";
  EXPECT_EQ(Parse(text, text.size()), (Parsed{text, {}}));
}

TEST(ToolCallParser, TextWithoutCallsPassesThroughAtOnce) {
  ToolCallParser parser;
  EXPECT_EQ(parser.Append("a < b").content, "a < b");
  EXPECT_EQ(parser.Append(" <tool").content, "");
  EXPECT_EQ(parser.Append("s>").content, " <tools>");
  EXPECT_EQ(parser.Append(" end ").content, " end");
  EXPECT_EQ(parser.Flush().content, " ");
}

TEST(MakeToolCallId, IsUniqueAndOfOneForm) {
  const std::string id = MakeToolCallId();
  EXPECT_THAT(id, testing::MatchesRegex("call_[0-9A-Za-z]+"));
  EXPECT_EQ(id.size(), 29U);
  EXPECT_NE(id, MakeToolCallId());
}

}  // namespace
}  // namespace whinchat
