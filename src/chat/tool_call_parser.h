// SPDX-License-Identifier: Apache-2.0
// Finds tool calls in a stream of answer text as Hermes and Qwen models write them:
//   <tool_call>
//   {"name": "get_weather", "arguments": {"city": "Paris"}}
//   </tool_call>
// What is between the tags but isn't such an object is given back as the text it was.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"

namespace whinchat {

struct ToolCallDelta {
  std::string content;
  std::vector<ToolCall> tool_calls;  // whole ones
};

// "call_" and 24 random letters and digits.
std::string MakeToolCallId();

class ToolCallParser {
 public:
  explicit ToolCallParser(std::function<std::string()> make_id = MakeToolCallId);

  // Text may be cut anywhere, inside a tag too. White space around tool calls is dropped.
  ToolCallDelta Append(std::string_view text);
  // What was held back. A last call whose closing tag is missing counts if its JSON is whole.
  ToolCallDelta Flush();

  int num_tool_calls() const { return num_tool_calls_; }

 private:
  bool TakeContent(ToolCallDelta* delta);
  bool TakeToolCall(ToolCallDelta* delta);
  bool ParseToolCall(std::string_view json, ToolCallDelta* delta);

  std::function<std::string()> make_id_;
  std::string held_;
  bool is_in_tool_call_ = false;
  int num_tool_calls_ = 0;
};

}  // namespace whinchat
