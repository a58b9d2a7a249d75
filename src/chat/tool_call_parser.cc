// SPDX-License-Identifier: Apache-2.0
#include "chat/tool_call_parser.h"

#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "chat/json_depth.h"
#include "chat/tag_scanner.h"

namespace whinchat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOpenTag = "<tool_call>";
constexpr std::string_view kCloseTag = "</tool_call>";

// The arguments as JSON text: an object, or a string that the model wrote in its place.
std::string ArgumentsText(const Json& call) {
  const auto arguments = call.find(call.contains("arguments") ? "arguments" : "parameters");
  if (arguments == call.end() || arguments->is_null()) {
    return "{}";
  }
  return arguments->is_string() ? arguments->get<std::string>() : arguments->dump();
}

}  // namespace

std::string MakeToolCallId() {
  constexpr std::string_view kCharacters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::uniform_int_distribution<size_t> index(0, kCharacters.size() - 1);
  std::string id = "call_";
  for (int i = 0; i < 24; ++i) {
    id += kCharacters[index(random)];
  }
  return id;
}

ToolCallParser::ToolCallParser(std::function<std::string()> make_id)
    : make_id_(std::move(make_id)) {}

ToolCallDelta ToolCallParser::Append(std::string_view text) {
  held_ += text;
  ToolCallDelta delta;
  bool may_go_on = true;
  while (may_go_on) {
    may_go_on = is_in_tool_call_ ? TakeToolCall(&delta) : TakeContent(&delta);
  }
  return delta;
}

ToolCallDelta ToolCallParser::Flush() {
  ToolCallDelta delta;
  const std::string rest = std::exchange(held_, {});
  if (!is_in_tool_call_) {
    delta.content = rest;
  } else if (!ParseToolCall(rest, &delta)) {
    delta.content = std::string(kOpenTag) + rest;
  }
  is_in_tool_call_ = false;
  return delta;
}

bool ToolCallParser::TakeContent(ToolCallDelta* delta) {
  const size_t open = held_.find(kOpenTag);
  if (open != std::string::npos) {
    delta->content += TrimRight(std::string_view(held_).substr(0, open));
    held_.erase(0, open + kOpenTag.size());
    is_in_tool_call_ = true;
    return true;
  }
  if (num_tool_calls_ > 0) {
    held_ = std::string(TrimLeft(held_));
  }
  // A possible start of a tag is held back, and the white space before it.
  const std::string_view certain =
      std::string_view(held_).substr(0, held_.size() - PartialTagSize(held_, kOpenTag));
  const size_t taken = TrimRight(certain).size();
  delta->content += held_.substr(0, taken);
  held_.erase(0, taken);
  return false;
}

bool ToolCallParser::TakeToolCall(ToolCallDelta* delta) {
  const size_t close = held_.find(kCloseTag);
  if (close == std::string::npos) {
    return false;
  }
  if (!ParseToolCall(std::string_view(held_).substr(0, close), delta)) {
    delta->content += std::string(kOpenTag) + held_.substr(0, close + kCloseTag.size());
  }
  held_.erase(0, close + kCloseTag.size());
  is_in_tool_call_ = false;
  return true;
}

bool ToolCallParser::ParseToolCall(std::string_view json, ToolCallDelta* delta) {
  if (JsonTextDepth(json) > kMaxJsonDepth) {
    return false;
  }
  const Json call = Json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!call.is_object() || !call.contains("name") || !call["name"].is_string()) {
    return false;
  }
  delta->tool_calls.push_back({make_id_(), call["name"].get<std::string>(), ArgumentsText(call)});
  ++num_tool_calls_;
  return true;
}

}  // namespace whinchat
