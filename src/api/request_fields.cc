// SPDX-License-Identifier: Apache-2.0
#include "api/request_fields.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "api/api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxStopStrings = 16;
constexpr size_t kMaxStopTokenIds = 256;
constexpr size_t kMaxCacheSaltBytes = 1024;

constexpr std::array kUnsupportedFields = {"prompt_logprobs",
                                           "structured_outputs",
                                           "guided_json",
                                           "guided_regex",
                                           "guided_choice",
                                           "guided_grammar",
                                           "guided_decoding_backend",
                                           "truncate_prompt_tokens",
                                           "suffix",
                                           "allowed_token_ids",
                                           "bad_words",
                                           "audio",
                                           "lora",
                                           "return_token_ids",
                                           "structural_tag",
                                           "json_schema"};

constexpr std::array kHarmlessFields = {"user",
                                        "store",
                                        "metadata",
                                        "service_tier",
                                        "modalities",
                                        "parallel_tool_calls",
                                        "prompt_cache_key",
                                        "safety_identifier",
                                        "request_id",
                                        "verbosity"};

void SetIfGiven(std::optional<double> value, float& target) {
  if (value.has_value()) {
    target = static_cast<float>(*value);
  }
}

int64_t MaxTokenId(const RequestDefaults& defaults) {
  return defaults.vocab_size > 0 ? defaults.vocab_size - 1 : kMaxInt;
}

void ReadLogitBias(FieldReader& fields, const RequestDefaults& defaults, SamplingParams& sampling) {
  const ordered_json* bias = fields.Object("logit_bias");
  if (bias == nullptr) {
    return;
  }
  FieldReader entries(*bias, "logit_bias.");
  for (const auto& [key, value] : bias->items()) {
    int64_t token_id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token_id);
    if (error != std::errc() || end != key.data() + key.size() || token_id < 0 ||
        token_id > MaxTokenId(defaults)) {
      ThrowFieldError("logit_bias",
                      fmt::format("logit_bias: `{}` is no token id; they go from 0 "
                                  "to {}.",
                                  key,
                                  MaxTokenId(defaults)));
    }
    const std::optional<double> weight = entries.Number(key, -100.0, 100.0);
    if (weight.has_value()) {
      sampling.logit_bias[static_cast<TokenId>(token_id)] = static_cast<float>(*weight);
    }
  }
}

void ReadStopFields(FieldReader& fields,
                    const RequestDefaults& defaults,
                    GenerateOptions& options) {
  options.stop = fields.StringOrList("stop", kMaxStopStrings);
  for (const std::string& stop : options.stop) {
    if (stop.empty()) {
      ThrowFieldError("stop", "stop: a stop string must not be empty.");
    }
  }
  if (const ordered_json* ids = fields.Array("stop_token_ids")) {
    if (ids->size() > kMaxStopTokenIds) {
      ThrowFieldError(
          "stop_token_ids",
          fmt::format("stop_token_ids: at most {} ids, got {}.", kMaxStopTokenIds, ids->size()));
    }
    for (size_t i = 0; i < ids->size(); ++i) {
      const ordered_json wrapped = {{"id", (*ids)[i]}};
      FieldReader item(wrapped, fmt::format("stop_token_ids[{}].", i));
      const std::optional<int64_t> id = item.Integer("id", 0, MaxTokenId(defaults));
      if (!id.has_value()) {
        ThrowFieldError("stop_token_ids", "stop_token_ids: expected integers, got null.");
      }
      options.sampling.stop_token_ids.push_back(static_cast<TokenId>(*id));
    }
  }
  options.sampling.ignore_eos = fields.Boolean("ignore_eos").value_or(false);
  options.include_stop_str_in_output = fields.Boolean("include_stop_str_in_output").value_or(false);
  options.skip_special_tokens = fields.Boolean("skip_special_tokens").value_or(true);
}

void ReadPenalties(FieldReader& fields, SamplingParams& sampling) {
  constexpr double kSmallest = 1e-3;
  constexpr double kLargest = 10.0;
  SetIfGiven(fields.Number("repeat_penalty", kSmallest, kLargest), sampling.repetition_penalty);
  SetIfGiven(fields.Number("repetition_penalty", kSmallest, kLargest), sampling.repetition_penalty);
  SetIfGiven(fields.Number("presence_penalty", -2.0, 2.0), sampling.presence_penalty);
  SetIfGiven(fields.Number("frequency_penalty", -2.0, 2.0), sampling.frequency_penalty);
}

std::optional<bool> ThinkingFromEffort(FieldReader& fields) {
  const std::optional<std::string> effort = fields.String("reasoning_effort");
  if (!effort.has_value()) {
    return std::nullopt;
  }
  for (const std::string_view known : {"minimal", "low", "medium", "high", "xhigh"}) {
    if (*effort == known) {
      return true;
    }
  }
  if (*effort != "none") {
    ThrowFieldError("reasoning_effort",
                    fmt::format("reasoning_effort: must be one of none, minimal, low, medium, "
                                "high, xhigh; got `{}`.",
                                *effort));
  }
  return false;
}

std::optional<bool> ThinkingFromType(FieldReader& fields) {
  const ordered_json* thinking = fields.Object("thinking");
  if (thinking == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::string> type = FieldReader(*thinking, "thinking.").String("type");
  if (type.has_value() && *type != "enabled" && *type != "disabled") {
    ThrowFieldError("thinking.type",
                    fmt::format("thinking.type: must be enabled or disabled, got `{}`.", *type));
  }
  return type.has_value() ? std::optional<bool>(*type == "enabled") : std::nullopt;
}

}  // namespace

ordered_json UnwrapExtraBody(ordered_json body) {
  FieldReader fields(body);
  const ordered_json* found = fields.Object("extra_body");
  if (found == nullptr) {
    return body;
  }
  const ordered_json extra = *found;
  body.erase("extra_body");
  for (const auto& [name, value] : extra.items()) {
    if (!body.contains(name) || body[name].is_null()) {
      body[name] = value;
    }
  }
  return body;
}

GenerateOptions ReadGenerateOptions(FieldReader& fields,
                                    const SamplingParams& starting_point,
                                    const RequestDefaults& defaults) {
  GenerateOptions options;
  options.sampling = starting_point;
  SamplingParams& sampling = options.sampling;
  SetIfGiven(fields.Number("temperature", 0.0, 2.0), sampling.temperature);
  SetIfGiven(fields.Number("min_p", 0.0, 1.0), sampling.min_p);
  if (const auto top_p = fields.Number("top_p", 0.0, 1.0)) {
    if (*top_p == 0.0) {
      ThrowFieldError("top_p", "top_p: must be greater than 0 and at most 1, got 0.");
    }
    sampling.top_p = static_cast<float>(*top_p);
  }
  if (const auto top_k = fields.Integer("top_k", -1, kMaxInt)) {
    sampling.top_k = *top_k < 0 ? 0 : static_cast<int>(*top_k);
  }
  ReadPenalties(fields, sampling);
  if (const auto seed = fields.Integer("seed", kMinInt64, kMaxInt64)) {
    sampling.seed = static_cast<uint64_t>(*seed);
  }
  ReadLogitBias(fields, defaults, sampling);
  ReadStopFields(fields, defaults, options);
  sampling.min_tokens = static_cast<int>(fields.Integer("min_tokens", 0, kMaxInt).value_or(0));

  options.priority = static_cast<int>(fields.Integer("priority", -kMaxInt, kMaxInt).value_or(0));
  options.cache_salt = fields.String("cache_salt").value_or("");
  if (options.cache_salt.size() > kMaxCacheSaltBytes) {
    ThrowFieldError("cache_salt", fmt::format("cache_salt: at most {} bytes.", kMaxCacheSaltBytes));
  }
  return options;
}

StreamOptions ReadStreamOptions(FieldReader& fields, bool stream) {
  StreamOptions options;
  const ordered_json* given = fields.Object("stream_options");
  if (given == nullptr) {
    return options;
  }
  if (!stream) {
    ThrowFieldError("stream_options", "stream_options: only allowed with stream: true.");
  }
  FieldReader stream_fields(*given, "stream_options.");
  options.include_usage = stream_fields.Boolean("include_usage").value_or(true);
  options.continuous_usage_stats = stream_fields.Boolean("continuous_usage_stats").value_or(false);
  return options;
}

int ReadNumChoices(FieldReader& fields, const RequestDefaults& defaults) {
  const auto n = static_cast<int>(fields.Integer("n", 1, defaults.max_num_choices).value_or(1));
  const auto best_of = fields.Integer("best_of", 1, defaults.max_num_choices).value_or(n);
  if (best_of != n) {
    ThrowNotSupported("best_of", "choosing the best of more answers than n");
  }
  return n;
}

std::optional<int> ReadMaxTokens(FieldReader& fields, int min) {
  const auto max_tokens = fields.Integer("max_tokens", min, kMaxInt);
  const auto max_completion_tokens = fields.Integer("max_completion_tokens", min, kMaxInt);
  const auto& winner = max_completion_tokens.has_value() ? max_completion_tokens : max_tokens;
  return winner.has_value() ? std::optional<int>(static_cast<int>(*winner)) : std::nullopt;
}

ordered_json ReadTemplateKwargs(FieldReader& fields, const RequestDefaults& defaults) {
  ordered_json kwargs = defaults.chat_template_kwargs;
  std::optional<bool> thinking = ThinkingFromEffort(fields);
  if (thinking.has_value()) {
    kwargs["reasoning_effort"] = *fields.String("reasoning_effort");
  }
  for (const std::optional<bool>& spelling :
       {fields.Boolean("think"), ThinkingFromType(fields), fields.Boolean("enable_thinking")}) {
    if (spelling.has_value()) {
      thinking = spelling;
    }
  }
  if (thinking.has_value()) {
    kwargs["enable_thinking"] = *thinking;
  }
  if (const ordered_json* given = fields.Object("chat_template_kwargs")) {
    FieldReader(*given, "chat_template_kwargs.").Boolean("enable_thinking");  // its type
    for (const auto& [name, value] : given->items()) {
      kwargs[name] = value;
    }
  }
  if (!kwargs.contains("enable_thinking") || !kwargs["enable_thinking"].is_boolean()) {
    kwargs["enable_thinking"] = false;
  }
  return kwargs;
}

void RefuseUnsupportedFields(FieldReader& fields) {
  for (const char* name : kUnsupportedFields) {
    const ordered_json* value = fields.Find(name);
    const bool is_off = value == nullptr || *value == false || *value == "" || value->empty();
    if (!is_off) {
      ThrowNotSupported(name, "this field");
    }
  }
  if (const ordered_json* format = fields.Object("response_format")) {
    const std::string type = FieldReader(*format, "response_format.").String("type").value_or("");
    if (type != "text") {
      ThrowNotSupported("response_format", fmt::format("a format of type `{}`", type));
    }
  }
}

void IgnoreHarmlessFields(FieldReader& fields) {
  for (const char* name : kHarmlessFields) {
    fields.Ignore(name);
  }
}

}  // namespace whinchat
