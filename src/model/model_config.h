// SPDX-License-Identifier: Apache-2.0
// What a decoder is made of, in Hugging Face's names, whatever file it came from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "checkpoint/checkpoint.h"

namespace whinchat {

enum class RopeScalingKind { kNone, kLinear, kLlama3 };

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  float factor = 1.0F;
  float low_freq_factor = 1.0F;   // llama3 only
  float high_freq_factor = 4.0F;  // llama3 only
  int original_max_position_embeddings = 8192;
};

struct ModelConfig {
  std::string architecture;  // "qwen3", "qwen2", "llama": a file of model/architectures/
  int hidden_size = 0;
  int intermediate_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int vocab_size = 0;
  int max_seq_len = 0;  // max_position_embeddings
  float rope_theta = 10000.0F;
  RopeScaling rope_scaling;
  float rms_norm_eps = 1e-6F;
  bool tie_word_embeddings = false;
  bool has_qk_norm = false;         // qwen3
  bool has_attention_bias = false;  // qwen2: q, k, v
};

// From config.json or GGUF metadata. Throws Error{kUnsupported} naming an unknown architecture and
// those that are known, Error{kCorruptFile} naming a missing or impossible value.
ModelConfig ReadModelConfig(const Checkpoint& checkpoint);

nlohmann::json ToJson(const ModelConfig& config);
ModelConfig ModelConfigFromJson(const nlohmann::json& json);

}  // namespace whinchat
