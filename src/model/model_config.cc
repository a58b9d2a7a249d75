// SPDX-License-Identifier: Apache-2.0
// What all architectures share of reading a configuration; each one's own part is in
// model/architectures/.
#include "model/model_config.h"

#include "base/error.h"
#include "model/architectures/architecture.h"
#include "model/config_reader.h"

namespace whinchat {
namespace {

// Far above any model this program can run; anything beyond is a damaged file.
constexpr int kMaxWidth = 1 << 18;
constexpr int kMaxLayers = 1024;
constexpr int kMaxHeads = 1024;
constexpr int kMaxHeadDim = 256;  // kernels/attention
constexpr int kMaxVocab = 1 << 22;
constexpr int kMaxPositions = 1 << 24;
constexpr int kVectorLanes = 16;  // lengths in kernels/elementwise are multiples of it

// Some GGUF files give one value per layer; this decoder has equal layers.
int ReadKvHeads(const ConfigReader& reader, int num_heads) {
  const ConfigKey key = {"num_key_value_heads", "attention.head_count_kv"};
  const nlohmann::json* value = reader.Find(key);
  if (value == nullptr) {
    return num_heads;
  }
  if (value->is_array()) {
    reader.Fail(ErrorCode::kUnsupported, key, "differs by layer, which is not supported");
  }
  return reader.RequiredInt(key, kMaxHeads);
}

int ReadHeadDim(const ConfigReader& reader, const ModelConfig& config) {
  const ConfigKey key = {"head_dim", "attention.key_length"};
  const std::optional<int> head_dim = reader.OptionalInt(key, kMaxWidth);
  const std::optional<int> value_dim =
      reader.OptionalInt({"", "attention.value_length"}, kMaxWidth);
  if (!head_dim && config.hidden_size % config.num_heads != 0) {
    reader.Fail(ErrorCode::kCorruptFile,
                {"num_attention_heads", "attention.head_count"},
                "is {}, which does not divide the hidden size {}",
                config.num_heads,
                config.hidden_size);
  }
  const int dim = head_dim.value_or(config.hidden_size / config.num_heads);
  if (value_dim && *value_dim != dim) {
    reader.Fail(ErrorCode::kUnsupported, key, "is {} but values have {} elements", dim, *value_dim);
  }
  if (dim % 2 != 0) {
    reader.Fail(ErrorCode::kCorruptFile, key, "is {}; rotary positions need an even size", dim);
  }
  if (dim % kVectorLanes != 0 || dim > kMaxHeadDim) {
    reader.Fail(ErrorCode::kUnsupported,
                key,
                "is {}; supported are multiples of {} up to {}",
                dim,
                kVectorLanes,
                kMaxHeadDim);
  }
  return dim;
}

void CheckWidth(const ConfigReader& reader, const ConfigKey& key, int width) {
  if (width % kVectorLanes != 0) {
    reader.Fail(
        ErrorCode::kUnsupported, key, "is {}; supported are multiples of {}", width, kVectorLanes);
  }
}

RopeScaling ReadHuggingFaceRopeScaling(const ConfigReader& reader) {
  // `rope_parameters` since transformers 5, `rope_scaling` before.
  const std::string object =
      reader.Find({"rope_parameters", ""}) != nullptr ? "rope_parameters" : "rope_scaling";
  const auto key = [&](std::string* name, const char* field) {
    *name = object + "." + field;
    return ConfigKey{*name, ""};
  };
  std::string name;
  std::optional<std::string> type = reader.OptionalString(key(&name, "rope_type"));
  if (!type) {
    type = reader.OptionalString(key(&name, "type"));
  }
  RopeScaling scaling;
  if (!type || *type == "default") {
    return scaling;
  }
  if (*type != "linear" && *type != "llama3") {
    reader.Fail(ErrorCode::kUnsupported,
                key(&name, "rope_type"),
                "is '{}'; supported are default, linear and llama3",
                *type);
  }
  scaling.factor = reader.RequiredNumber(key(&name, "factor"));
  scaling.kind = RopeScalingKind::kLinear;
  if (*type == "llama3") {
    scaling.kind = RopeScalingKind::kLlama3;
    scaling.low_freq_factor = reader.RequiredNumber(key(&name, "low_freq_factor"));
    scaling.high_freq_factor = reader.RequiredNumber(key(&name, "high_freq_factor"));
    scaling.original_max_position_embeddings =
        reader.RequiredInt(key(&name, "original_max_position_embeddings"), kMaxPositions);
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      reader.Fail(ErrorCode::kCorruptFile,
                  key(&name, "high_freq_factor"),
                  "is {}, expected more than low_freq_factor {}",
                  scaling.high_freq_factor,
                  scaling.low_freq_factor);
    }
  }
  return scaling;
}

RopeScaling ReadGgufRopeScaling(const ConfigReader& reader, int head_dim) {
  const ConfigKey dim_key = {"", "rope.dimension_count"};
  const std::optional<int> rotary_dim = reader.OptionalInt(dim_key, kMaxWidth);
  if (rotary_dim && *rotary_dim != head_dim) {
    reader.Fail(ErrorCode::kUnsupported,
                dim_key,
                "is {}; only rotation of the whole head ({}) is supported",
                *rotary_dim,
                head_dim);
  }
  RopeScaling scaling;
  const ConfigKey type_key = {"", "rope.scaling.type"};
  const std::string type = reader.OptionalString(type_key).value_or("none");
  if (type == "linear") {
    scaling.kind = RopeScalingKind::kLinear;
    scaling.factor = reader.RequiredNumber({"", "rope.scaling.factor"});
  } else if (type != "none") {
    // Llama-3 scaling comes as the tensor rope_freqs.weight, not as metadata.
    reader.Fail(ErrorCode::kUnsupported,
                type_key,
                "is '{}'; supported are none, linear and the rope_freqs.weight tensor",
                type);
  }
  return scaling;
}

void ReadRope(const ConfigReader& reader, ModelConfig* config) {
  if (reader.is_gguf()) {
    config->rope_theta = reader.OptionalNumber({"", "rope.freq_base"}).value_or(10000.0F);
    config->rope_scaling = ReadGgufRopeScaling(reader, config->head_dim);
    return;
  }
  std::optional<float> theta = reader.OptionalNumber({"rope_parameters.rope_theta", ""});
  if (!theta) {
    theta = reader.OptionalNumber({"rope_theta", ""});
  }
  config->rope_theta = theta.value_or(10000.0F);
  config->rope_scaling = ReadHuggingFaceRopeScaling(reader);
}

void ReadVocabulary(const ConfigReader& reader, ModelConfig* config) {
  if (!reader.is_gguf()) {
    config->vocab_size = reader.RequiredInt({"vocab_size", ""}, kMaxVocab);
    config->tie_word_embeddings = reader.OptionalBool({"tie_word_embeddings", ""}, false);
    return;
  }
  const TensorView* embedding = reader.checkpoint().FindTensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || embedding->shape[0] < 1 ||
      embedding->shape[0] > kMaxVocab) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor token_embd.weight is {}, expected [vocabulary, hidden size]",
               reader.checkpoint().path().string(),
               embedding == nullptr ? "missing" : embedding->ShapeText());
  }
  config->vocab_size = static_cast<int>(embedding->shape[0]);
  config->tie_word_embeddings = reader.checkpoint().FindTensor("output.weight") == nullptr;
}

// Features that would silently change the answer if they were overlooked.
void RefuseUnsupported(const ConfigReader& reader) {
  const std::string activation = reader.OptionalString({"hidden_act", ""}).value_or("silu");
  if (activation != "silu") {
    reader.Fail(
        ErrorCode::kUnsupported, {"hidden_act", ""}, "is '{}'; supported is silu", activation);
  }
  for (const ConfigKey& key :
       {ConfigKey{"num_experts", "expert_count"}, ConfigKey{"num_local_experts", "expert_count"}}) {
    const nlohmann::json* experts = reader.Find(key);
    if (experts != nullptr && *experts != 0) {
      reader.Fail(ErrorCode::kUnsupported, key, "is set; mixtures of experts are not supported");
    }
  }
  for (const char* name : {"attention_bias", "mlp_bias", "use_sliding_window"}) {
    const ConfigKey key = {name, ""};
    if (reader.OptionalBool(key, false)) {
      reader.Fail(ErrorCode::kUnsupported, key, "is true, which is not supported");
    }
  }
  const ConfigKey layers_key = {"layer_types", ""};
  const nlohmann::json* layer_types = reader.Find(layers_key);
  for (const nlohmann::json& type :
       layer_types == nullptr ? nlohmann::json::array() : *layer_types) {
    if (!type.is_string() || type.get<std::string>() != "full_attention") {
      reader.Fail(
          ErrorCode::kUnsupported, layers_key, "has {}; supported is full_attention", type.dump());
    }
  }
  const ConfigKey rotary_key = {"partial_rotary_factor", ""};
  if (reader.OptionalNumber(rotary_key).value_or(1.0F) != 1.0F) {
    reader.Fail(ErrorCode::kUnsupported, rotary_key, "is not 1; only whole heads can be rotated");
  }
  const ConfigKey quantization_key = {"quantization_config", ""};
  if (reader.Find(quantization_key) != nullptr) {
    reader.Fail(ErrorCode::kUnsupported,
                quantization_key,
                "is set; use the model's GGUF file or its unquantized folder");
  }
}

void CheckHeads(const ConfigReader& reader, const ModelConfig& config) {
  if (config.num_heads % config.num_kv_heads != 0) {
    reader.Fail(ErrorCode::kCorruptFile,
                {"num_attention_heads", "attention.head_count"},
                "is {}, expected a multiple of the {} key-value heads",
                config.num_heads,
                config.num_kv_heads);
  }
  CheckWidth(reader, {"hidden_size", "embedding_length"}, config.hidden_size);
  CheckWidth(reader, {"intermediate_size", "feed_forward_length"}, config.intermediate_size);
}

}  // namespace

ModelConfig ReadModelConfig(const Checkpoint& checkpoint) {
  const ConfigReader reader(checkpoint);
  const Architecture* architecture = FindArchitecture(reader.architecture());
  if (architecture == nullptr) {
    ThrowError(ErrorCode::kUnsupported,
               "'{}': architecture '{}' is not supported; supported are {}",
               checkpoint.path().string(),
               reader.architecture(),
               KnownArchitectureNames());
  }
  RefuseUnsupported(reader);
  ModelConfig config;
  config.architecture = std::string(architecture->name);
  config.hidden_size = reader.RequiredInt({"hidden_size", "embedding_length"}, kMaxWidth);
  config.intermediate_size =
      reader.RequiredInt({"intermediate_size", "feed_forward_length"}, kMaxWidth);
  config.num_layers = reader.RequiredInt({"num_hidden_layers", "block_count"}, kMaxLayers);
  config.num_heads = reader.RequiredInt({"num_attention_heads", "attention.head_count"}, kMaxHeads);
  config.num_kv_heads = ReadKvHeads(reader, config.num_heads);
  config.head_dim = ReadHeadDim(reader, config);
  CheckHeads(reader, config);
  config.max_seq_len =
      reader.RequiredInt({"max_position_embeddings", "context_length"}, kMaxPositions);
  config.rms_norm_eps =
      reader.OptionalNumber({"rms_norm_eps", "attention.layer_norm_rms_epsilon"}).value_or(1e-6F);
  ReadVocabulary(reader, &config);
  ReadRope(reader, &config);
  architecture->complete_config(&config);
  return config;
}

}  // namespace whinchat
