// SPDX-License-Identifier: Apache-2.0
#include "api/message_fields.h"

#include <utility>

#include "api/api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxMessages = 4096;
constexpr size_t kMaxTools = 256;

std::string ReadTextPart(const ordered_json& part, const std::string& path) {
  if (part.is_string()) {
    return part.get<std::string>();
  }
  FieldReader fields(part, path + ".");
  const std::string type = fields.String("type").value_or("text");
  if (type != "text" && type != "input_text" && type != "output_text") {
    ThrowNotSupported(path, fmt::format("content of type `{}`", type));
  }
  const std::optional<std::string> text = fields.String("text");
  if (!text.has_value()) {
    ThrowFieldError(path + ".text", path + ".text: a text part needs its text.");
  }
  return *text;
}

std::string ReadContent(FieldReader& fields) {
  const ordered_json* content = fields.Find("content");
  if (content == nullptr) {
    return "";
  }
  if (content->is_string()) {
    return content->get<std::string>();
  }
  const std::string path = fields.Path("content");
  if (!content->is_array()) {
    ThrowFieldError(path, path + ": expected a string or a list of text parts.");
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    if (i > 0) {
      text += '\n';
    }
    text += ReadTextPart((*content)[i], fmt::format("{}[{}]", path, i));
  }
  return text;
}

ToolCall ReadToolCall(const ordered_json& json, const std::string& path) {
  FieldReader fields(json, path + ".");
  const ordered_json* function = fields.Object("function");
  if (function == nullptr) {
    ThrowFieldError(path + ".function", path + ".function: a tool call needs its function.");
  }
  FieldReader function_fields(*function, path + ".function.");
  ToolCall call;
  call.id = fields.String("id").value_or("");
  call.name = function_fields.String("name").value_or("");
  if (call.name.empty()) {
    ThrowFieldError(path + ".function.name", path + ".function.name: a function needs a name.");
  }
  // OpenAI writes the arguments as JSON text; some clients send the object itself.
  const ordered_json* arguments = function_fields.Find("arguments");
  if (arguments == nullptr) {
    call.arguments = "{}";
  } else {
    call.arguments = arguments->is_string() ? arguments->get<std::string>() : DumpJson(*arguments);
  }
  return call;
}

std::string ReadRole(FieldReader& fields) {
  const std::optional<std::string> role = fields.String("role");
  const std::string path = fields.Path("role");
  if (!role.has_value()) {
    ThrowFieldError(path, path + ": a message needs a role.");
  }
  if (*role == "developer") {
    return "system";
  }
  if (*role == "function") {
    return "tool";
  }
  if (*role != "system" && *role != "user" && *role != "assistant" && *role != "tool") {
    ThrowFieldError(path,
                    fmt::format("{}: must be one of system, developer, user, assistant, "
                                "tool; got `{}`.",
                                path,
                                *role));
  }
  return *role;
}

Message ReadMessage(const ordered_json& json, size_t idx) {
  FieldReader fields(json, fmt::format("messages[{}].", idx));
  Message message;
  message.role = ReadRole(fields);
  message.content = ReadContent(fields);
  message.reasoning_content = fields.String("reasoning_content");
  if (!message.reasoning_content.has_value()) {
    message.reasoning_content = fields.String("reasoning");
  }
  message.tool_call_id = fields.String("tool_call_id");
  message.name = fields.String("name");
  if (const ordered_json* calls = fields.Array("tool_calls")) {
    for (size_t i = 0; i < calls->size(); ++i) {
      message.tool_calls.push_back(
          ReadToolCall((*calls)[i], fmt::format("messages[{}].tool_calls[{}]", idx, i)));
    }
  }
  return message;
}

void CheckTool(const ordered_json& tool, size_t idx) {
  const std::string path = fmt::format("tools[{}].", idx);
  FieldReader fields(tool, path);
  const std::string type = fields.String("type").value_or("function");
  if (type != "function") {
    ThrowNotSupported(path + "type", fmt::format("a tool of type `{}`", type));
  }
  const ordered_json* function = fields.Object("function");
  if (function == nullptr) {
    ThrowFieldError(path + "function", path + "function: a tool needs its function.");
  }
  FieldReader function_fields(*function, path + "function.");
  if (function_fields.String("name").value_or("").empty()) {
    ThrowFieldError(path + "function.name", path + "function.name: a function needs a name.");
  }
  function_fields.String("description");
  function_fields.Object("parameters");
}

// Whether the model may call the tools. Forcing a call needs constrained decoding.
bool ReadToolChoice(FieldReader& fields) {
  const ordered_json* choice = fields.Find("tool_choice");
  if (choice == nullptr || *choice == "auto") {
    return true;
  }
  if (*choice == "none") {
    return false;
  }
  if (*choice == "required" || choice->is_object()) {
    ThrowNotSupported("tool_choice", "forcing a tool call");
  }
  ThrowFieldError("tool_choice",
                  "tool_choice: must be none, auto, required or an object that names a function.");
}

}  // namespace

std::vector<Message> ReadMessages(FieldReader& fields) {
  const ordered_json* list = fields.Array("messages");
  if (list == nullptr || list->empty()) {
    ThrowFieldError("messages", "messages: at least one message is needed.");
  }
  if (list->size() > kMaxMessages) {
    ThrowFieldError(
        "messages",
        fmt::format("messages: at most {} messages, got {}.", kMaxMessages, list->size()));
  }
  std::vector<Message> messages;
  messages.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    messages.push_back(ReadMessage((*list)[i], i));
  }
  return messages;
}

ordered_json ReadTools(FieldReader& fields, bool template_takes_tools) {
  const bool may_call = ReadToolChoice(fields);
  const ordered_json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty() || !may_call) {
    return ordered_json::array();
  }
  if (tools->size() > kMaxTools) {
    ThrowFieldError("tools",
                    fmt::format("tools: at most {} tools, got {}.", kMaxTools, tools->size()));
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    CheckTool((*tools)[i], i);
  }
  if (!template_takes_tools) {
    ThrowFieldError("tools",
                    "tools: the chat template of this model has no place for tools; leave them out "
                    "or serve a model that was trained to call them.");
  }
  return *tools;
}

}  // namespace whinchat
