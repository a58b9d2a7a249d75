// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generation_defaults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"
#include "pipeline/side_file.h"

namespace whinchat {
namespace {

using Json = nlohmann::json;

// Tokens for a thought on top of the answer's own.
constexpr int kReasoningTokens = 512;

// Tokens that end a turn in the families this program knows. A model's own eos may be another: the
// chat template closes each turn with one of these, and the model learned to write it.
constexpr std::array<const char*, 10> kTurnEnds = {"<|im_end|>",
                                                   "<|endoftext|>",
                                                   "<|eot_id|>",
                                                   "<|eom_id|>",
                                                   "<|end_of_text|>",
                                                   "<end_of_turn>",
                                                   "<|end|>",
                                                   "<|end_of_turn|>",
                                                   "<｜end▁of▁sentence｜>",
                                                   "</s>"};

// What a file says; nothing where it is silent.
struct FileValues {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<int64_t> top_k;

  bool IsEmpty() const { return !temperature && !top_p && !top_k && !min_p; }
};

SamplingParams MakeParams(float temperature, float top_p, int top_k, float min_p = 0.0F) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_p = top_p;
  params.top_k = top_k;
  params.min_p = min_p;
  return params;
}

// Qwen3's model card, by thinking mode.
SamplingParams Qwen3Thinking() {
  return MakeParams(0.6F, 0.95F, 20);
}
SamplingParams Qwen3NonThinking() {
  return MakeParams(0.7F, 0.8F, 20);
}

// Small models wander at a temperature of 1: for those that say nothing.
SamplingParams Fallback(const Checkpoint& checkpoint) {
  std::string name = FindString(checkpoint.config(), "general.basename").value_or("") +
                     checkpoint.path().filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (name.find("smollm2") != std::string::npos) {
    return MakeParams(0.2F, 0.9F, 0);  // its model card
  }
  return MakeParams(0.7F, 0.9F, 40, 0.05F);
}

double CheckRange(double value, double low, double high, const char* key, const std::string& file) {
  if (!(value >= low && value <= high)) {
    ThrowError(
        ErrorCode::kCorruptFile, "'{}': {} is {}, expected {} to {}", file, key, value, low, high);
  }
  return value;
}

FileValues ReadGenerationConfig(const Json& config, const std::string& file) {
  FileValues values;
  const auto find = [&](const char* key, double low, double high) {
    std::optional<double> value = FindNumber(config, key);
    if (value) {
      CheckRange(*value, low, high, key, file);
    }
    return value;
  };
  values.temperature = find("temperature", 0.0, 100.0);
  values.top_p = find("top_p", 0.0, 1.0);
  values.min_p = find("min_p", 0.0, 1.0);
  values.repetition_penalty = find("repetition_penalty", 0.01, 100.0);
  values.top_k = FindInteger(config, "top_k");
  if (values.top_k) {
    CheckRange(static_cast<double>(*values.top_k), -1, 1e9, "top_k", file);
  }
  if (FindBool(config, "do_sample") == false) {
    values.temperature = 0.0;
  }
  return values;
}

// llama.cpp's converter copies generation_config.json into these keys.
FileValues ReadGgufValues(const Json& metadata, const std::string& file) {
  Json config = Json::object();
  const std::array<std::array<const char*, 2>, 5> kKeys = {{
      {"general.sampling.temp", "temperature"},
      {"general.sampling.top_p", "top_p"},
      {"general.sampling.top_k", "top_k"},
      {"general.sampling.min_p", "min_p"},
      {"general.sampling.penalty_repeat", "repetition_penalty"},
  }};
  for (const auto& [from, to] : kKeys) {
    if (metadata.contains(from)) {
      config[to] = metadata[from];
    }
  }
  return ReadGenerationConfig(config, file);
}

void Apply(const FileValues& values, SamplingParams* params) {
  const auto set = [](const std::optional<double>& from, float* to) {
    if (from) {
      *to = static_cast<float>(*from);
    }
  };
  set(values.temperature, &params->temperature);
  // A nucleus of nothing is a nucleus of the most likely token.
  if (values.top_p && *values.top_p > 0.0) {
    set(values.top_p, &params->top_p);
  }
  set(values.min_p, &params->min_p);
  set(values.repetition_penalty, &params->repetition_penalty);
  if (values.top_k) {
    params->top_k = static_cast<int>(*values.top_k);
  }
}

bool AreQwen3ThinkingValues(const FileValues& values) {
  const SamplingParams known = Qwen3Thinking();
  const auto is_near = [](const std::optional<double>& value, float expected) {
    return !value || std::abs(*value - static_cast<double>(expected)) < 1e-4;
  };
  return is_near(values.temperature, known.temperature) && is_near(values.top_p, known.top_p) &&
         (!values.top_k || *values.top_k == known.top_k);
}

class EosSet {
 public:
  explicit EosSet(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void Add(std::optional<int64_t> id) {
    if (id && *id >= 0 && *id < tokenizer_.vocab_size() &&
        std::find(ids_.begin(), ids_.end(), *id) == ids_.end()) {
      ids_.push_back(static_cast<TokenId>(*id));
    }
  }
  // A number or a list of numbers.
  void AddFrom(const Json& config, const char* key) {
    Add(FindInteger(config, key));
    const auto found = config.find(key);
    if (found != config.end() && found->is_array()) {
      for (const Json& id : *found) {
        Add(id.is_number_integer() ? std::optional(id.get<int64_t>()) : std::nullopt);
      }
    }
  }
  void AddTurnEnds() {
    for (const char* text : kTurnEnds) {
      const std::optional<TokenId> id = tokenizer_.FindToken(text);
      if (id && tokenizer_.IsSpecial(*id)) {
        Add(*id);
      }
    }
  }
  std::vector<TokenId> Take() { return std::move(ids_); }

 private:
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
};

}  // namespace

GenerationDefaults ReadGenerationDefaults(const Checkpoint& checkpoint,
                                          const Tokenizer& tokenizer,
                                          std::string_view architecture) {
  const bool is_gguf = checkpoint.format() == CheckpointFormat::kGguf;
  const Json config = ReadJsonSideFile(checkpoint, "generation_config.json");
  const std::string file = SideFileLabel(checkpoint, "generation_config.json");
  const FileValues values =
      is_gguf ? ReadGgufValues(checkpoint.config(), file) : ReadGenerationConfig(config, file);

  GenerationDefaults defaults;
  // The file of a Qwen3 that thinks or not, as asked, holds the values for thinking.
  if (architecture.starts_with("qwen3") && AreQwen3ThinkingValues(values)) {
    defaults.thinking = Qwen3Thinking();
    defaults.non_thinking = Qwen3NonThinking();
  } else {
    defaults.non_thinking = values.IsEmpty() ? Fallback(checkpoint) : SamplingParams();
    Apply(values, &defaults.non_thinking);
    defaults.thinking = defaults.non_thinking;
  }
  defaults.thinking.max_tokens += kReasoningTokens;

  EosSet eos(tokenizer);
  eos.AddFrom(config, "eos_token_id");
  eos.AddFrom(checkpoint.config(), is_gguf ? "tokenizer.ggml.eos_token_id" : "eos_token_id");
  if (is_gguf) {
    eos.AddFrom(checkpoint.config(), "tokenizer.ggml.eot_token_id");
    eos.AddFrom(checkpoint.config(), "tokenizer.ggml.eom_token_id");
  }
  eos.Add(tokenizer.eos_token_id());
  eos.AddTurnEnds();
  defaults.eos_token_ids = eos.Take();
  return defaults;
}

}  // namespace whinchat
