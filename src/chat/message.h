// SPDX-License-Identifier: Apache-2.0
// A conversation as OpenAI's API and the chat templates see it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace whinchat {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text
};

struct Message {
  std::string role;  // "system", "user", "assistant", "tool", "developer"
  std::string content;
  std::optional<std::string> reasoning_content;
  std::vector<ToolCall> tool_calls;
  std::optional<std::string> tool_call_id;
  std::optional<std::string> name;
};

// The message as templates expect it: tool_calls as [{"type": "function", "function": {...}}] with
// arguments parsed where they are an object.
nlohmann::ordered_json ToTemplateJson(const Message& message);

}  // namespace whinchat
