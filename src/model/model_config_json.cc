// SPDX-License-Identifier: Apache-2.0
// ModelConfig as JSON, for packed files and reports.
#include <array>

#include "base/error.h"
#include "model/model_config.h"

namespace whinchat {
namespace {

constexpr std::array<const char*, 3> kRopeScalingNames = {"none", "linear", "llama3"};

RopeScalingKind RopeScalingKindFromName(const std::string& name) {
  for (size_t i = 0; i < kRopeScalingNames.size(); ++i) {
    if (name == kRopeScalingNames[i]) {
      return static_cast<RopeScalingKind>(i);
    }
  }
  ThrowError(ErrorCode::kCorruptFile, "model configuration: unknown rope scaling '{}'", name);
}

}  // namespace

nlohmann::json ToJson(const ModelConfig& config) {
  return {
      {"architecture", config.architecture},
      {"hidden_size", config.hidden_size},
      {"intermediate_size", config.intermediate_size},
      {"num_layers", config.num_layers},
      {"num_heads", config.num_heads},
      {"num_kv_heads", config.num_kv_heads},
      {"head_dim", config.head_dim},
      {"vocab_size", config.vocab_size},
      {"max_seq_len", config.max_seq_len},
      {"rope_theta", config.rope_theta},
      {"rope_scaling",
       {{"kind", kRopeScalingNames[static_cast<size_t>(config.rope_scaling.kind)]},
        {"factor", config.rope_scaling.factor},
        {"low_freq_factor", config.rope_scaling.low_freq_factor},
        {"high_freq_factor", config.rope_scaling.high_freq_factor},
        {"original_max_position_embeddings",
         config.rope_scaling.original_max_position_embeddings}}},
      {"rms_norm_eps", config.rms_norm_eps},
      {"tie_word_embeddings", config.tie_word_embeddings},
      {"has_qk_norm", config.has_qk_norm},
      {"has_attention_bias", config.has_attention_bias},
  };
}

ModelConfig ModelConfigFromJson(const nlohmann::json& json) {
  ModelConfig config;
  try {
    json.at("architecture").get_to(config.architecture);
    json.at("hidden_size").get_to(config.hidden_size);
    json.at("intermediate_size").get_to(config.intermediate_size);
    json.at("num_layers").get_to(config.num_layers);
    json.at("num_heads").get_to(config.num_heads);
    json.at("num_kv_heads").get_to(config.num_kv_heads);
    json.at("head_dim").get_to(config.head_dim);
    json.at("vocab_size").get_to(config.vocab_size);
    json.at("max_seq_len").get_to(config.max_seq_len);
    json.at("rope_theta").get_to(config.rope_theta);
    const nlohmann::json& scaling = json.at("rope_scaling");
    config.rope_scaling.kind = RopeScalingKindFromName(scaling.at("kind").get<std::string>());
    scaling.at("factor").get_to(config.rope_scaling.factor);
    scaling.at("low_freq_factor").get_to(config.rope_scaling.low_freq_factor);
    scaling.at("high_freq_factor").get_to(config.rope_scaling.high_freq_factor);
    scaling.at("original_max_position_embeddings")
        .get_to(config.rope_scaling.original_max_position_embeddings);
    json.at("rms_norm_eps").get_to(config.rms_norm_eps);
    json.at("tie_word_embeddings").get_to(config.tie_word_embeddings);
    json.at("has_qk_norm").get_to(config.has_qk_norm);
    json.at("has_attention_bias").get_to(config.has_attention_bias);
  } catch (const nlohmann::json::exception& exception) {
    ThrowError(ErrorCode::kCorruptFile, "model configuration: {}", exception.what());
  }
  return config;
}

}  // namespace whinchat
