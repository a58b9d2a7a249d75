// SPDX-License-Identifier: Apache-2.0
#include "api/chat_request.h"

#include <utility>

#include "api/api_error.h"
#include "api/message_fields.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxTopLogprobs = 20;

void ReadLogprobs(FieldReader& fields, ChatRequest& request) {
  request.include_logprobs = fields.Boolean("logprobs").value_or(false);
  const auto top = fields.Integer("top_logprobs", 0, kMaxTopLogprobs);
  if (top.value_or(0) > 0 && !request.include_logprobs) {
    ThrowFieldError("top_logprobs", "top_logprobs: only allowed with logprobs: true.");
  }
  if (request.include_logprobs) {
    request.options.sampling.num_logprobs = static_cast<int>(top.value_or(0));
  }
}

void ReadReasoningVisibility(FieldReader& fields, ChatRequest& request) {
  // The later name wins where a client sends several.
  request.include_reasoning = fields.Boolean("return_reasoning").value_or(true);
  request.include_reasoning =
      fields.Boolean("include_reasoning").value_or(request.include_reasoning);
  request.options.separate_reasoning = fields.Boolean("separate_reasoning").value_or(true);
}

void ReadLimits(FieldReader& fields, const RequestDefaults& defaults, ChatRequest& request) {
  SamplingParams& sampling = request.options.sampling;
  const bool is_thinking = request.template_options.kwargs["enable_thinking"].get<bool>();
  const std::optional<int> max_tokens = ReadMaxTokens(fields, /*min=*/1);
  sampling.max_tokens =
      max_tokens.value_or(defaults.max_tokens + (is_thinking ? defaults.reasoning_budget : 0));
  if (sampling.min_tokens > sampling.max_tokens) {
    ThrowFieldError("min_tokens",
                    fmt::format("min_tokens: must not exceed max_tokens ({}), got "
                                "{}.",
                                sampling.max_tokens,
                                sampling.min_tokens));
  }
}

}  // namespace

ChatTemplateOptions ReadTemplateOptions(FieldReader& fields, const RequestDefaults& defaults) {
  ChatTemplateOptions options;
  const std::optional<bool> add_generation_prompt = fields.Boolean("add_generation_prompt");
  options.continue_final_message = fields.Boolean("continue_final_message").value_or(false);
  if (options.continue_final_message && add_generation_prompt.value_or(false)) {
    ThrowFieldError("continue_final_message",
                    "continue_final_message: can't be combined with add_generation_prompt.");
  }
  options.add_generation_prompt = add_generation_prompt.value_or(!options.continue_final_message);
  options.kwargs = ReadTemplateKwargs(fields, defaults);
  options.tools = ReadTools(fields, defaults.template_takes_tools);
  return options;
}

ChatRequest ParseChatRequest(std::string_view body, const RequestDefaults& defaults) {
  const ordered_json json = UnwrapExtraBody(ParseRequestJson(body));
  FieldReader fields(json);
  ChatRequest request;
  request.model = fields.String("model").value_or("");
  request.messages = ReadMessages(fields);
  request.template_options = ReadTemplateOptions(fields, defaults);
  const bool is_thinking = request.template_options.kwargs["enable_thinking"].get<bool>();
  request.options = ReadGenerateOptions(
      fields,
      is_thinking ? defaults.generation.thinking : defaults.generation.non_thinking,
      defaults);
  ReadLimits(fields, defaults, request);
  ReadLogprobs(fields, request);
  ReadReasoningVisibility(fields, request);
  request.num_choices = ReadNumChoices(fields, defaults);
  request.stream = fields.Boolean("stream").value_or(false);
  request.stream_options = ReadStreamOptions(fields, request.stream);
  if (fields.Boolean("echo").value_or(false)) {
    ThrowNotSupported("echo", "repeating the last message");
  }
  RefuseUnsupportedFields(fields);
  IgnoreHarmlessFields(fields);
  request.unknown_fields = fields.UnknownFields();
  return request;
}

}  // namespace whinchat
