// SPDX-License-Identifier: Apache-2.0
#include "chat/message.h"

#include <gtest/gtest.h>

namespace whinchat {
namespace {

TEST(ToTemplateJson, WritesOnlyWhatTheMessageHas) {
  EXPECT_EQ(ToTemplateJson({.role = "user", .content = "hi"}).dump(),
            R"({"role":"user","content":"hi"})");
}

TEST(ToTemplateJson, WritesEveryMemberInAFixedOrder) {
  Message message;
  message.role = "assistant";
  message.reasoning_content = "hm";
  message.tool_calls = {{.id = "1", .name = "f", .arguments = R"({"b": 1, "a": [2]})"}};
  message.tool_call_id = "7";
  message.name = "n";
  EXPECT_EQ(ToTemplateJson(message).dump(),
            R"({"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"1",)"
            R"("type":"function","function":{"name":"f","arguments":{"b":1,"a":[2]}}}],)"
            R"("tool_call_id":"7","name":"n"})");
}

TEST(ToTemplateJson, KeepsArgumentsThatAreNoObjectAsText) {
  for (const std::string arguments : {"", "{\"a\":", "[1]", "7", "\"x\""}) {
    Message message;
    message.tool_calls = {{.id = "", .name = "f", .arguments = arguments}};
    const auto call = ToTemplateJson(message)["tool_calls"][0];
    EXPECT_EQ(call["function"]["arguments"], arguments);
    EXPECT_FALSE(call.contains("id"));
  }
}

TEST(ToTemplateJson, KeepsArgumentsNestedTooDeeplyAsText) {
  std::string arguments = std::string(100000, '[') + std::string(100000, ']');
  arguments = "{\"a\":" + arguments + "}";
  Message message;
  message.tool_calls = {{.id = "", .name = "f", .arguments = arguments}};
  EXPECT_EQ(ToTemplateJson(message)["tool_calls"][0]["function"]["arguments"], arguments);
}

}  // namespace
}  // namespace whinchat
