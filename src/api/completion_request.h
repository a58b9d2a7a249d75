// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/completions, checked.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/request_fields.h"
#include "pipeline/text_generator.h"

namespace whinchat {

using CompletionPrompt = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  std::string model;
  std::vector<CompletionPrompt> prompts;  // at least one
  GenerateOptions options;                // max_tokens may be 0: nothing is generated
  int num_choices = 1;                    // of each prompt
  bool echo = false;                      // the answer starts with the prompt
  bool include_logprobs = false;
  bool stream = false;
  StreamOptions stream_options;
  std::vector<std::string> unknown_fields;
};

CompletionRequest ParseCompletionRequest(std::string_view body, const RequestDefaults& defaults);

}  // namespace whinchat
