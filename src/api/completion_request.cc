// SPDX-License-Identifier: Apache-2.0
#include "api/completion_request.h"

#include <limits>
#include <utility>

#include "api/api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxLogprobs = 20;
constexpr size_t kMaxPrompts = 64;

[[noreturn]] void ThrowPromptType(const std::string& path) {
  ThrowFieldError("prompt",
                  path +
                      ": expected a string, a list of strings, a list of token ids or a "
                      "list of lists of token ids.");
}

std::vector<TokenId> ReadTokenIds(const ordered_json& list,
                                  const std::string& path,
                                  int vocab_size) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (const ordered_json& item : list) {
    if (!item.is_number_integer()) {
      ThrowPromptType(path);
    }
    const auto id = item.get<int64_t>();
    if (id < 0 || id > std::numeric_limits<TokenId>::max() ||
        (vocab_size > 0 && id >= vocab_size)) {
      ThrowFieldError(
          "prompt",
          fmt::format(
              "{}: token id {} is outside the vocabulary of {}.", path, item.dump(), vocab_size));
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  if (ids.empty()) {
    ThrowFieldError("prompt", path + ": must not be empty.");
  }
  return ids;
}

CompletionPrompt ReadPrompt(const ordered_json& json, const std::string& path, int vocab_size) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (!json.is_array()) {
    ThrowPromptType(path);
  }
  return ReadTokenIds(json, path, vocab_size);
}

std::vector<CompletionPrompt> ReadPrompts(FieldReader& fields, int vocab_size) {
  const ordered_json* prompt = fields.Find("prompt");
  if (prompt == nullptr) {
    ThrowFieldError("prompt", "prompt: is needed.");
  }
  const bool is_list_of_prompts =
      prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
  if (!is_list_of_prompts) {
    return {ReadPrompt(*prompt, "prompt", vocab_size)};
  }
  if (prompt->size() > kMaxPrompts) {
    ThrowFieldError(
        "prompt",
        fmt::format(
            "prompt: at most {} prompts in one request, got {}.", kMaxPrompts, prompt->size()));
  }
  std::vector<CompletionPrompt> prompts;
  for (size_t i = 0; i < prompt->size(); ++i) {
    prompts.push_back(ReadPrompt((*prompt)[i], fmt::format("prompt[{}]", i), vocab_size));
  }
  return prompts;
}

void ReadLimits(FieldReader& fields, const RequestDefaults& defaults, CompletionRequest& request) {
  SamplingParams& sampling = request.options.sampling;
  sampling.max_tokens =
      ReadMaxTokens(fields, /*min=*/request.echo ? 0 : 1).value_or(defaults.max_tokens);
  if (sampling.min_tokens > sampling.max_tokens) {
    ThrowFieldError("min_tokens",
                    fmt::format("min_tokens: must not exceed max_tokens ({}), got "
                                "{}.",
                                sampling.max_tokens,
                                sampling.min_tokens));
  }
}

}  // namespace

CompletionRequest ParseCompletionRequest(std::string_view body, const RequestDefaults& defaults) {
  const ordered_json json = UnwrapExtraBody(ParseRequestJson(body));
  FieldReader fields(json);
  CompletionRequest request;
  request.model = fields.String("model").value_or("");
  request.prompts = ReadPrompts(fields, defaults.vocab_size);
  request.options = ReadGenerateOptions(fields, defaults.generation.non_thinking, defaults);
  request.options.separate_reasoning = false;  // a completion is the text as the model wrote it
  request.echo = fields.Boolean("echo").value_or(false);
  ReadLimits(fields, defaults, request);
  request.options.sampling.num_logprobs.reset();
  if (const auto logprobs = fields.Integer("logprobs", 0, kMaxLogprobs)) {
    request.include_logprobs = true;
    request.options.sampling.num_logprobs = static_cast<int>(*logprobs);
  }
  if (request.echo && request.include_logprobs) {
    ThrowNotSupported("logprobs", "the log probabilities of an echoed prompt");
  }
  request.num_choices = ReadNumChoices(fields, defaults);
  request.stream = fields.Boolean("stream").value_or(false);
  request.stream_options = ReadStreamOptions(fields, request.stream);
  RefuseUnsupportedFields(fields);
  IgnoreHarmlessFields(fields);
  request.unknown_fields = fields.UnknownFields();
  return request;
}

}  // namespace whinchat
