// SPDX-License-Identifier: Apache-2.0
// The bodies of POST /tokenize and /detokenize in vLLM's shape, and the answers to them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/request_fields.h"
#include "chat/chat_template.h"

namespace whinchat {

struct TokenizeRequest {
  std::string model;
  std::optional<std::string> prompt;  // or a conversation:
  std::vector<Message> messages;
  ChatTemplateOptions template_options;
  bool add_special_tokens = true;  // false by default for a conversation
  bool return_token_strs = false;
};

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

// Raw bytes of a token, as Tokenizer::TokenBytes gives them.
using TokenTextFn = std::function<std::string(TokenId)>;

TokenizeRequest ParseTokenizeRequest(std::string_view body, const RequestDefaults& defaults);
DetokenizeRequest ParseDetokenizeRequest(std::string_view body, const RequestDefaults& defaults);

// {"count", "max_model_len", "tokens", "token_strs"}; token_strs null unless `token_text` is given.
std::string TokenizeBody(const std::vector<TokenId>& tokens,
                         int max_model_len,
                         const TokenTextFn& token_text);
std::string DetokenizeBody(const std::string& prompt);

}  // namespace whinchat
