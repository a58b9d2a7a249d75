// SPDX-License-Identifier: Apache-2.0
// OpenAI's "messages" and "tools" as the chat module takes them.
#pragma once

#include <vector>

#include "api/json_reader.h"
#include "chat/message.h"

namespace whinchat {

// The field "messages": at least one. Content may be a string, null or a list of text parts (joined
// by newlines, as vLLM does); developer becomes system; the thought of an earlier answer is read
// from reasoning_content or reasoning.
std::vector<Message> ReadMessages(FieldReader& fields);

// The field "tools", checked, in the order the client wrote it; empty for tool_choice "none".
// `template_takes_tools`: otherwise tools are an error, for the model would never see them.
nlohmann::ordered_json ReadTools(FieldReader& fields, bool template_takes_tools);

}  // namespace whinchat
