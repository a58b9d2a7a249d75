// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "memory_checkpoint.h"
#include "tiny_models.h"

namespace whinchat {
namespace {

using testing::AllOf;
using testing::HasSubstr;

nlohmann::json Qwen3Json() {  // config.json of Qwen3-0.6B, what matters of it
  return {{"model_type", "qwen3"},
          {"attention_bias", false},
          {"head_dim", 128},
          {"hidden_act", "silu"},
          {"hidden_size", 1024},
          {"intermediate_size", 3072},
          {"max_position_embeddings", 40960},
          {"max_window_layers", 28},
          {"num_attention_heads", 16},
          {"num_hidden_layers", 28},
          {"num_key_value_heads", 8},
          {"rms_norm_eps", 1e-06},
          {"rope_scaling", nullptr},
          {"rope_theta", 1000000},
          {"sliding_window", nullptr},
          {"tie_word_embeddings", true},
          {"torch_dtype", "bfloat16"},
          {"use_sliding_window", false},
          {"vocab_size", 151936}};
}

nlohmann::json LlamaJson() {
  return {{"model_type", "llama"},
          {"hidden_size", 2048},
          {"intermediate_size", 8192},
          {"max_position_embeddings", 131072},
          {"num_attention_heads", 32},
          {"num_hidden_layers", 16},
          {"rms_norm_eps", 1e-05},
          {"rope_theta", 500000.0},
          {"vocab_size", 128256}};
}

nlohmann::json GgufLlamaJson() {
  return {{"general.architecture", "llama"},
          {"llama.block_count", 30},
          {"llama.context_length", 8192},
          {"llama.embedding_length", 576},
          {"llama.feed_forward_length", 1536},
          {"llama.attention.head_count", 9},
          {"llama.attention.head_count_kv", 3},
          {"llama.rope.freq_base", 100000.0},
          {"llama.attention.layer_norm_rms_epsilon", 1e-5},
          {"llama.rope.dimension_count", 64}};
}

ModelConfig ReadHuggingFace(const nlohmann::json& json) {
  return ReadModelConfig(MemoryCheckpoint(CheckpointFormat::kHuggingFace, json));
}

ModelConfig ReadGguf(const nlohmann::json& json, bool has_output = false) {
  MemoryCheckpoint checkpoint(CheckpointFormat::kGguf, json);
  checkpoint.AddEmpty("token_embd.weight", {49152, 576});
  if (has_output) {
    checkpoint.AddEmpty("output.weight", {49152, 576});
  }
  return ReadModelConfig(checkpoint);
}

// The error of reading `json`, or "read without error".
template <typename Read>
Error ErrorOf(const nlohmann::json& json, Read read) {
  try {
    read(json);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::kInternal, "read without error");
}

Error HuggingFaceError(nlohmann::json json, const nlohmann::json& changes) {
  json.merge_patch(changes);
  return ErrorOf(json, ReadHuggingFace);
}

Error GgufError(const nlohmann::json& changes) {
  nlohmann::json json = GgufLlamaJson();
  json.merge_patch(changes);
  return ErrorOf(json, [](const nlohmann::json& changed) { return ReadGguf(changed); });
}

TEST(ModelConfig, ReadsQwen3) {
  const ModelConfig config = ReadHuggingFace(Qwen3Json());
  EXPECT_EQ(config.architecture, "qwen3");
  EXPECT_EQ(config.hidden_size, 1024);
  EXPECT_EQ(config.intermediate_size, 3072);
  EXPECT_EQ(config.num_layers, 28);
  EXPECT_EQ(config.num_heads, 16);
  EXPECT_EQ(config.num_kv_heads, 8);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.vocab_size, 151936);
  EXPECT_EQ(config.max_seq_len, 40960);
  EXPECT_EQ(config.rope_theta, 1e6F);
  EXPECT_EQ(config.rope_scaling.kind, RopeScalingKind::kNone);
  EXPECT_EQ(config.rms_norm_eps, 1e-6F);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_TRUE(config.has_qk_norm);
  EXPECT_FALSE(config.has_attention_bias);
}

TEST(ModelConfig, MissingHeadSizesFollowFromTheHiddenSize) {
  const ModelConfig config = ReadHuggingFace(LlamaJson());
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.num_kv_heads, 32);
  EXPECT_FALSE(config.tie_word_embeddings);
}

TEST(ModelConfig, ReadsEverySpellingOfRopeScaling) {
  const nlohmann::json llama3 = {{"rope_type", "llama3"},
                                 {"factor", 32.0},
                                 {"low_freq_factor", 1.0},
                                 {"high_freq_factor", 4.0},
                                 {"original_max_position_embeddings", 8192}};
  nlohmann::json json = LlamaJson();
  json["rope_scaling"] = llama3;
  const ModelConfig old_name = ReadHuggingFace(json);
  EXPECT_EQ(old_name.rope_scaling.kind, RopeScalingKind::kLlama3);
  EXPECT_EQ(old_name.rope_scaling.factor, 32.0F);
  EXPECT_EQ(old_name.rope_scaling.original_max_position_embeddings, 8192);
  EXPECT_EQ(old_name.rope_theta, 500000.0F);

  json = LlamaJson();
  json.erase("rope_theta");
  json["rope_parameters"] = llama3;
  json["rope_parameters"]["rope_theta"] = 123.0;
  const ModelConfig new_name = ReadHuggingFace(json);
  EXPECT_EQ(new_name.rope_scaling.kind, RopeScalingKind::kLlama3);
  EXPECT_EQ(new_name.rope_theta, 123.0F);

  json = LlamaJson();
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(ReadHuggingFace(json).rope_scaling.kind, RopeScalingKind::kLinear);
  json["rope_scaling"] = {{"rope_type", "default"}};
  EXPECT_EQ(ReadHuggingFace(json).rope_scaling.kind, RopeScalingKind::kNone);
}

TEST(ModelConfig, ReadsGgufMetadata) {
  const ModelConfig config = ReadGguf(GgufLlamaJson());
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.hidden_size, 576);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.num_kv_heads, 3);
  EXPECT_EQ(config.vocab_size, 49152);
  EXPECT_EQ(config.max_seq_len, 8192);
  EXPECT_EQ(config.rope_theta, 100000.0F);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_FALSE(ReadGguf(GgufLlamaJson(), /*has_output=*/true).tie_word_embeddings);
}

TEST(ModelConfig, SurvivesJson) {
  for (ModelConfig config : {TinyQwen3(), TinyLlama(), TinyQwen2()}) {
    config.rope_scaling = {RopeScalingKind::kLlama3, 8.0F, 1.0F, 4.0F, 64};
    const nlohmann::json json = ToJson(config);
    EXPECT_EQ(ToJson(ModelConfigFromJson(json)), json);
    EXPECT_EQ(ModelConfigFromJson(json).rope_theta, config.rope_theta);
  }
  EXPECT_THROW(ModelConfigFromJson({{"architecture", "llama"}}), Error);
}

TEST(ModelConfig, UnknownArchitectureIsNamedWithTheKnownOnes) {
  const Error error = HuggingFaceError(Qwen3Json(), {{"model_type", "mamba"}});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("'mamba'"), HasSubstr("llama, qwen2, qwen3"), HasSubstr("/models/")));
  EXPECT_EQ(HuggingFaceError(Qwen3Json(), {{"model_type", nullptr}}).code(),
            ErrorCode::kCorruptFile);
}

struct BadValue {
  const char* key;
  nlohmann::json value;
  ErrorCode code;
};

TEST(ModelConfig, ImpossibleValuesAreErrorsThatNameFileAndKey) {
  const std::vector<BadValue> bad_values = {
      {"num_hidden_layers", 0, ErrorCode::kCorruptFile},
      {"num_hidden_layers", -3, ErrorCode::kCorruptFile},
      {"num_hidden_layers", 1e9, ErrorCode::kCorruptFile},
      {"num_hidden_layers", nullptr, ErrorCode::kCorruptFile},
      {"hidden_size", "1024", ErrorCode::kCorruptFile},
      {"hidden_size", 4294968320, ErrorCode::kCorruptFile},
      {"hidden_size", 1000, ErrorCode::kUnsupported},
      {"intermediate_size", 3000, ErrorCode::kUnsupported},
      {"head_dim", 33, ErrorCode::kCorruptFile},
      {"head_dim", 24, ErrorCode::kUnsupported},
      {"head_dim", 512, ErrorCode::kUnsupported},
      {"vocab_size", 0, ErrorCode::kCorruptFile},
      {"max_position_embeddings", 0, ErrorCode::kCorruptFile},
      {"rms_norm_eps", -1.0, ErrorCode::kCorruptFile},
      {"rope_theta", 0.0, ErrorCode::kCorruptFile},
      {"tie_word_embeddings", 1, ErrorCode::kCorruptFile},
      {"hidden_act", "gelu", ErrorCode::kUnsupported},
      {"attention_bias", true, ErrorCode::kUnsupported},
      {"use_sliding_window", true, ErrorCode::kUnsupported},
      {"num_experts", 128, ErrorCode::kUnsupported},
      {"partial_rotary_factor", 0.5, ErrorCode::kUnsupported},
  };
  for (const BadValue& bad : bad_values) {
    const Error error = HuggingFaceError(Qwen3Json(), {{bad.key, bad.value}});
    EXPECT_EQ(error.code(), bad.code) << bad.key << " = " << bad.value << ": " << error.message();
    EXPECT_THAT(error.message(), AllOf(HasSubstr(bad.key), HasSubstr("/models/test-model")));
  }
}

TEST(ModelConfig, HeadsMustBeAMultipleOfKeyValueHeads) {
  const Error error = HuggingFaceError(Qwen3Json(), {{"num_key_value_heads", 3}});
  EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("16"), HasSubstr("3 key-value heads")));
}

TEST(ModelConfig, SlidingLayersAreRefused) {
  const Error error =
      HuggingFaceError(Qwen3Json(), {{"layer_types", {"full_attention", "sliding_attention"}}});
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("sliding_attention"));
}

TEST(ModelConfig, QuantizedFoldersAndUnknownRopeAreRefused) {
  EXPECT_EQ(
      HuggingFaceError(Qwen3Json(), {{"quantization_config", {{"quant_method", "gptq"}}}}).code(),
      ErrorCode::kUnsupported);
  const Error yarn =
      HuggingFaceError(Qwen3Json(), {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}}});
  EXPECT_EQ(yarn.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(yarn.message(), AllOf(HasSubstr("yarn"), HasSubstr("llama3")));
  const Error incomplete =
      HuggingFaceError(LlamaJson(), {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 4.0}}}});
  EXPECT_EQ(incomplete.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(incomplete.message(), HasSubstr("rope_scaling.low_freq_factor"));
}

TEST(ModelConfig, BadGgufMetadataIsNamedWithItsPrefix) {
  const Error missing = GgufError({{"llama.block_count", nullptr}});
  EXPECT_EQ(missing.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(missing.message(), HasSubstr("llama.block_count is missing"));
  EXPECT_EQ(GgufError({{"llama.expert_count", 8}}).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(GgufError({{"llama.rope.dimension_count", 32}}).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(GgufError({{"llama.rope.scaling.type", "yarn"}}).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(GgufError({{"llama.attention.head_count_kv", {3, 3, 1}}}).code(),
            ErrorCode::kUnsupported);
  EXPECT_EQ(GgufError({{"llama.attention.head_count", 7}}).code(), ErrorCode::kCorruptFile);
}

TEST(ModelConfig, GgufWithoutAnEmbeddingIsCorrupt) {
  const MemoryCheckpoint checkpoint(CheckpointFormat::kGguf, GgufLlamaJson());
  EXPECT_THROW(ReadModelConfig(checkpoint), Error);
}

}  // namespace
}  // namespace whinchat
