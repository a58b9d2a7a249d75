// SPDX-License-Identifier: Apache-2.0
#include "chat/message.h"

#include <utility>

#include "chat/json_depth.h"

namespace whinchat {
namespace {

using Json = nlohmann::ordered_json;

// Templates print an object's members themselves and copy a string as it is, so only an object is
// parsed: anything else the model wrote stays the text it was.
Json ArgumentsToJson(const std::string& arguments) {
  if (JsonTextDepth(arguments) <= kMaxJsonDepth) {
    Json parsed = Json::parse(arguments, /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) {
      return parsed;
    }
  }
  return arguments;
}

Json ToolCallToJson(const ToolCall& tool_call) {
  Json json = Json::object();
  if (!tool_call.id.empty()) {
    json["id"] = tool_call.id;
  }
  json["type"] = "function";
  json["function"]["name"] = tool_call.name;
  json["function"]["arguments"] = ArgumentsToJson(tool_call.arguments);
  return json;
}

}  // namespace

nlohmann::ordered_json ToTemplateJson(const Message& message) {
  Json json = Json::object();
  json["role"] = message.role;
  json["content"] = message.content;
  if (message.reasoning_content) {
    json["reasoning_content"] = *message.reasoning_content;
  }
  if (!message.tool_calls.empty()) {
    Json& tool_calls = json["tool_calls"] = Json::array();
    for (const ToolCall& tool_call : message.tool_calls) {
      tool_calls.push_back(ToolCallToJson(tool_call));
    }
  }
  if (message.tool_call_id) {
    json["tool_call_id"] = *message.tool_call_id;
  }
  if (message.name) {
    json["name"] = *message.name;
  }
  return json;
}

}  // namespace whinchat
