// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/chat/completions, checked. Bad input ends here, as a 400 naming the field.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/request_fields.h"
#include "chat/message.h"
#include "pipeline/text_generator.h"

namespace whinchat {

struct ChatRequest {
  std::string model;  // as the client wrote it; empty if it did not
  std::vector<Message> messages;
  ChatTemplateOptions template_options;
  GenerateOptions options;
  int num_choices = 1;
  bool stream = false;
  StreamOptions stream_options;
  bool include_reasoning = true;  // show the thought
  bool include_logprobs = false;
  std::vector<std::string> unknown_fields;
};

ChatRequest ParseChatRequest(std::string_view body, const RequestDefaults& defaults);

// "messages" and what belongs to the template; /tokenize takes them too.
ChatTemplateOptions ReadTemplateOptions(FieldReader& fields, const RequestDefaults& defaults);

}  // namespace whinchat
