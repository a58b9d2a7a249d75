// SPDX-License-Identifier: Apache-2.0
#include "api/tokenize_request.h"

#include <limits>

#include "api/api_error.h"
#include "api/chat_request.h"
#include "api/message_fields.h"

namespace whinchat {

using nlohmann::ordered_json;

TokenizeRequest ParseTokenizeRequest(std::string_view body, const RequestDefaults& defaults) {
  const ordered_json json = UnwrapExtraBody(ParseRequestJson(body));
  FieldReader fields(json);
  TokenizeRequest request;
  request.model = fields.String("model").value_or("");
  request.prompt = fields.String("prompt");
  const bool is_chat = json.contains("messages") && !request.prompt.has_value();
  if (is_chat) {
    request.messages = ReadMessages(fields);
    request.template_options = ReadTemplateOptions(fields, defaults);
  } else if (!request.prompt.has_value()) {
    ThrowFieldError("prompt", "prompt: either prompt or messages is needed.");
  }
  request.add_special_tokens = fields.Boolean("add_special_tokens").value_or(!is_chat);
  request.return_token_strs = fields.Boolean("return_token_strs").value_or(false);
  return request;
}

DetokenizeRequest ParseDetokenizeRequest(std::string_view body, const RequestDefaults& defaults) {
  const ordered_json json = UnwrapExtraBody(ParseRequestJson(body));
  FieldReader fields(json);
  DetokenizeRequest request;
  request.model = fields.String("model").value_or("");
  const ordered_json* tokens = fields.Array("tokens");
  if (tokens == nullptr) {
    ThrowFieldError("tokens", "tokens: a list of token ids is needed.");
  }
  for (const ordered_json& token : *tokens) {
    const int64_t id = token.is_number_integer() ? token.get<int64_t>() : -1;
    if (id < 0 || id > std::numeric_limits<TokenId>::max() ||
        (defaults.vocab_size > 0 && id >= defaults.vocab_size)) {
      ThrowFieldError("tokens",
                      fmt::format("tokens: {} is no token id; they go from 0 to {}.",
                                  DumpJson(token),
                                  defaults.vocab_size - 1));
    }
    request.tokens.push_back(static_cast<TokenId>(id));
  }
  return request;
}

std::string TokenizeBody(const std::vector<TokenId>& tokens,
                         int max_model_len,
                         const TokenTextFn& token_text) {
  ordered_json body = {{"count", tokens.size()},
                       {"max_model_len", max_model_len},
                       {"tokens", tokens},
                       {"token_strs", nullptr}};
  if (token_text) {
    body["token_strs"] = ordered_json::array();
    for (const TokenId id : tokens) {
      body["token_strs"].push_back(token_text(id));
    }
  }
  return DumpJson(body);
}

std::string DetokenizeBody(const std::string& prompt) {
  return DumpJson(ordered_json{{"prompt", prompt}});
}

}  // namespace whinchat
