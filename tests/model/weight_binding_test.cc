// SPDX-License-Identifier: Apache-2.0
// From tensors to bound weights: what is missing, misshapen or not a number is an error that names
// it; packed files are written once, mapped afterwards, and made anew when they don't fit.
#include "model/weight_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "kernels/pack/pack.h"
#include "memory_checkpoint.h"
#include "model/weight_map.h"
#include "model/weight_packing.h"
#include "sequence_runner.h"
#include "tiny_models.h"

namespace whinchat {
namespace {

using testing::AllOf;
using testing::HasSubstr;

nlohmann::json HuggingFaceJson(const ModelConfig& config) {
  return {{"model_type", config.architecture},
          {"hidden_size", config.hidden_size},
          {"intermediate_size", config.intermediate_size},
          {"num_hidden_layers", config.num_layers},
          {"num_attention_heads", config.num_heads},
          {"num_key_value_heads", config.num_kv_heads},
          {"head_dim", config.head_dim},
          {"vocab_size", config.vocab_size},
          {"max_position_embeddings", config.max_seq_len},
          {"tie_word_embeddings", config.tie_word_embeddings}};
}

// Deterministic values near 1/sqrt(k).
std::vector<float> Values(int64_t n, int64_t k, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(n * k));
  const float scale = 1.0F / std::sqrt(static_cast<float>(k));
  uint32_t state = seed + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = scale * (static_cast<float>(state >> 8) * 0x1p-23F - 1.0F);
  }
  return values;
}

// Fills a checkpoint with every tensor of a Hugging Face decoder.
void AddTensors(const ModelConfig& config, MemoryCheckpoint* checkpoint) {
  uint32_t seed = 0;
  const auto matrix = [&](const std::string& name, int n, int k) {
    checkpoint->AddF32(name + ".weight", {n, k}, Values(n, k, ++seed));
  };
  const auto vector = [&](const std::string& name, int k) {
    checkpoint->AddF32(name, {k}, Values(1, k, ++seed));
  };
  const int hidden = config.hidden_size;
  const int q_size = config.num_heads * config.head_dim;
  const int kv_size = config.num_kv_heads * config.head_dim;
  matrix("model.embed_tokens", config.vocab_size, hidden);
  for (int i = 0; i < config.num_layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    vector(layer + "input_layernorm.weight", hidden);
    vector(layer + "post_attention_layernorm.weight", hidden);
    matrix(layer + "self_attn.q_proj", q_size, hidden);
    matrix(layer + "self_attn.k_proj", kv_size, hidden);
    matrix(layer + "self_attn.v_proj", kv_size, hidden);
    matrix(layer + "self_attn.o_proj", hidden, q_size);
    if (config.has_qk_norm) {
      vector(layer + "self_attn.q_norm.weight", config.head_dim);
      vector(layer + "self_attn.k_norm.weight", config.head_dim);
    }
    if (config.has_attention_bias) {
      vector(layer + "self_attn.q_proj.bias", q_size);
      vector(layer + "self_attn.k_proj.bias", kv_size);
      vector(layer + "self_attn.v_proj.bias", kv_size);
    }
    matrix(layer + "mlp.gate_proj", config.intermediate_size, hidden);
    matrix(layer + "mlp.up_proj", config.intermediate_size, hidden);
    matrix(layer + "mlp.down_proj", hidden, config.intermediate_size);
  }
  vector("model.norm.weight", hidden);
  if (!config.tie_word_embeddings) {
    matrix("lm_head", config.vocab_size, hidden);
  }
}

class WeightBinding : public testing::Test {
 protected:
  WeightBinding() : folder_(std::filesystem::path(testing::TempDir()) / "whinchat_weight_binding") {
    std::filesystem::remove_all(folder_);
  }
  ~WeightBinding() override { std::filesystem::remove_all(folder_); }

  static MemoryCheckpoint Checkpoint(const ModelConfig& config) {
    MemoryCheckpoint checkpoint(CheckpointFormat::kHuggingFace, HuggingFaceJson(config));
    AddTensors(config, &checkpoint);
    return checkpoint;
  }

  std::unique_ptr<Model> Load(const MemoryCheckpoint& checkpoint, ModelOptions options = {}) {
    return Model::Load(checkpoint, options, &pool_, kernels::SelectKernelTable());
  }

  std::vector<float> Logits(Model* model) {
    SequenceRunner runner(model, 4, 16);
    RunningSequence sequence = runner.Start(SomeTokens(12, model->config().vocab_size, 1));
    runner.Finish(sequence, 16);
    return sequence.logits.back();
  }

  Error LoadError(const MemoryCheckpoint& checkpoint, const ModelOptions& options = {}) {
    try {
      Load(checkpoint, options);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::kInternal, "loaded without error");
  }

  ModelOptions Cached() {
    ModelOptions options;
    options.packed_cache_dir = folder_;
    options.on_warning = [this](const std::string& message) { warnings_.push_back(message); };
    return options;
  }

  std::vector<std::filesystem::path> CachedFiles() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files.push_back(entry.path());
    }
    return files;
  }

  std::filesystem::path folder_;
  ThreadPool pool_{2};
  std::vector<std::string> warnings_;
};

TEST_F(WeightBinding, MissingTensorIsNamed) {
  for (const char* name : {"model.layers.1.self_attn.k_proj.weight",
                           "model.layers.0.input_layernorm.weight",
                           "model.embed_tokens.weight",
                           "lm_head.weight"}) {
    MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
    checkpoint.Remove(name);
    const Error error = LoadError(checkpoint);
    EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr(name), HasSubstr("missing"), HasSubstr("/models/test-model")));
  }
}

TEST_F(WeightBinding, WrongShapeIsNamedWithBothShapes) {
  MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
  checkpoint.tensor("model.layers.0.mlp.up_proj.weight").shape = {96, 160};
  const Error error = LoadError(checkpoint);
  EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("model.layers.0.mlp.up_proj.weight"),
                    HasSubstr("[96, 160]"),
                    HasSubstr("[160, 96]")));
}

TEST_F(WeightBinding, NumbersThatAreNotFiniteAreNamed) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const WeightMode mode : {WeightMode::kAuto, WeightMode::kF32, WeightMode::kBF16}) {
      MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
      checkpoint.values("model.layers.1.mlp.down_proj.weight")[20 * 160 + 5] = bad;
      ModelOptions options = Cached();
      options.weights = mode;
      const Error error = LoadError(checkpoint, options);
      EXPECT_EQ(error.code(), ErrorCode::kCorruptFile) << error.message();
      EXPECT_THAT(error.message(),
                  AllOf(HasSubstr("model.layers.1.mlp.down_proj.weight"), HasSubstr("16 to 31")));
      EXPECT_TRUE(CachedFiles().empty()) << "a file was left behind";
    }
    MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
    checkpoint.values("model.norm.weight")[3] = bad;
    EXPECT_THAT(LoadError(checkpoint).message(),
                AllOf(HasSubstr("model.norm.weight"), HasSubstr("element 3")));
  }
}

TEST_F(WeightBinding, IntegerTensorsAreRefused) {
  MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
  checkpoint.tensor("model.layers.0.mlp.up_proj.weight").dtype = DType::kI32;
  const Error error = LoadError(checkpoint);
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("up_proj"), HasSubstr("I32")));
}

TEST_F(WeightBinding, TensorsThatWouldChangeTheAnswerAreRefusedOthersIgnored) {
  for (const char* name : {"model.layers.0.self_attn.q_proj.bias",
                           "model.layers.0.mlp.experts.7.up_proj.weight",
                           "model.layers.0.self_attn.q_norm.weight"}) {
    MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
    checkpoint.AddF32(name, {96}, Values(1, 96, 1));
    const Error error = LoadError(checkpoint);
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.message(), HasSubstr(name));
  }
  MemoryCheckpoint checkpoint = Checkpoint(TinyLlama());
  checkpoint.AddF32("model.layers.0.self_attn.rotary_emb.inv_freq", {8}, Values(1, 8, 1));
  EXPECT_NO_THROW(Load(checkpoint));
}

TEST_F(WeightBinding, NamesWithoutModelPrefixAreFound) {
  const std::vector<float> expected = Logits(Load(Checkpoint(TinyQwen3())).get());
  MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  for (const TensorView& tensor : std::vector<TensorView>(checkpoint.tensors())) {
    checkpoint.tensor(tensor.name).name = tensor.name.substr(std::strlen("model."));
  }
  EXPECT_EQ(Logits(Load(checkpoint).get()), expected);
}

TEST_F(WeightBinding, RowsThatGroupsDoNotDivideStayFloats) {
  const MemoryCheckpoint checkpoint = Checkpoint(TinyQwen2());
  const std::unique_ptr<Model> fast = Load(checkpoint);
  EXPECT_EQ(fast->DescribeWeights(), "f32 + w8_g32, head f32, embedding f32");
  ModelOptions reference;
  reference.weights = WeightMode::kF32;
  const std::vector<float> expected = Logits(Load(checkpoint, reference).get());
  const std::vector<float> actual = Logits(fast.get());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 0.1F) << i;
  }
}

TEST_F(WeightBinding, GgufLlamaRowsArePutBackIntoHalves) {
  const ModelConfig config = TinyLlama();
  MemoryCheckpoint source = Checkpoint(config);
  MemoryCheckpoint gguf(CheckpointFormat::kGguf, {});
  WeightMap map(CheckpointFormat::kGguf, config.head_dim, nullptr);
  PanelMatrix bound;
  map.EnterLayer(0);
  map.Rotary({"q_proj", "self_attn.q_proj", "attn_q"}, {96, 96}, &bound);
  const WeightSpec& spec = map.specs().front();
  EXPECT_EQ(spec.tensor_name, "blk.0.attn_q.weight");
  // As the GGUF converter does it: row (head, half, i) goes to (head, i, half).
  const std::vector<float>& rows = source.values("model.layers.0.self_attn.q_proj.weight");
  std::vector<float> interleaved(rows.size());
  for (size_t row = 0; row < 96; ++row) {
    const size_t head = row / 16;
    const size_t half = row % 16 / 8;
    const size_t i = row % 8;
    std::copy_n(rows.data() + row * 96, 96, interleaved.data() + (head * 16 + 2 * i + half) * 96);
  }
  gguf.AddF32(spec.tensor_name, {96, 96}, interleaved);
  std::vector<float> packed(PackedBytes(spec, PackedType::kF32) / sizeof(float));
  PackWeight({&spec, &gguf.tensors()[0], PackedType::kF32, "test"},
             &pool_,
             std::as_writable_bytes(std::span(packed)));
  const PanelMatrix matrix = {
      PackedType::kF32, 96, 96, reinterpret_cast<const std::byte*>(packed.data())};
  std::vector<float> row(96);
  for (int i = 0; i < 96; ++i) {
    kernels::UnpackRow(matrix, i, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), rows.begin() + i * 96)) << "row " << i;
  }
}

TEST_F(WeightBinding, PackedFileIsWrittenOnceAndGivesTheSameBits) {
  MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  const std::vector<float> expected = Logits(Load(checkpoint).get());
  double last_fraction = 0;
  ModelOptions options = Cached();
  options.on_pack_progress = [&](double fraction) {
    EXPECT_GE(fraction, last_fraction);
    last_fraction = fraction;
  };
  EXPECT_EQ(Logits(Load(checkpoint, options).get()), expected);
  EXPECT_EQ(last_fraction, 1.0);
  ASSERT_EQ(CachedFiles().size(), 1U);
  // The second start does not look at the source: it may be gone.
  for (const char* name : {"model.layers.0.mlp.up_proj.weight", "model.norm.weight"}) {
    checkpoint.Remove(name);
  }
  last_fraction = 0;
  EXPECT_EQ(Logits(Load(checkpoint, options).get()), expected);
  EXPECT_EQ(last_fraction, 0.0) << "it was packed again";
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(WeightBinding, EachModeHasItsOwnPackedFile) {
  const MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  for (const WeightMode mode : {WeightMode::kAuto, WeightMode::kF32, WeightMode::kBF16}) {
    ModelOptions options = Cached();
    options.weights = mode;
    const std::vector<float> packed = Logits(Load(checkpoint, options).get());
    EXPECT_EQ(Logits(Load(checkpoint, options).get()), packed);
  }
  EXPECT_EQ(CachedFiles().size(), 3U);
}

TEST_F(WeightBinding, ChangedSourceIsPackedAgain) {
  MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  const std::vector<float> before = Logits(Load(checkpoint, Cached()).get());
  std::vector<float>& values = checkpoint.values("model.layers.0.mlp.up_proj.weight");
  std::fill(values.begin(), values.end(), 0.25F);
  checkpoint.set_fingerprint("fingerprint 2");
  const std::vector<float> after = Logits(Load(checkpoint, Cached()).get());
  EXPECT_NE(after, before);
  EXPECT_EQ(after, Logits(Load(checkpoint).get()));
}

TEST_F(WeightBinding, DamagedPackedFileIsPackedAgain) {
  const MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  const std::vector<float> expected = Logits(Load(checkpoint, Cached()).get());
  const std::filesystem::path path = CachedFiles().at(0);
  const uintmax_t size = std::filesystem::file_size(path);
  for (const uintmax_t damaged_size : {uintmax_t{0}, uintmax_t{63}, size / 2, size - 1}) {
    std::filesystem::resize_file(path, damaged_size);
    EXPECT_EQ(Logits(Load(checkpoint, Cached()).get()), expected) << damaged_size;
    EXPECT_EQ(std::filesystem::file_size(path), size);
  }
  std::fstream(path, std::ios::in | std::ios::out).seekp(100).put('#');
  EXPECT_EQ(Logits(Load(checkpoint, Cached()).get()), expected);
}

TEST_F(WeightBinding, FolderThatCanNotBeWrittenMeansMemoryAndAWarning) {
  const MemoryCheckpoint checkpoint = Checkpoint(TinyQwen3());
  const std::vector<float> expected = Logits(Load(checkpoint).get());
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "not a folder";
  ModelOptions options = Cached();
  options.packed_cache_dir = folder_ / "file" / "cache";
  EXPECT_EQ(Logits(Load(checkpoint, options).get()), expected);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("in memory"), HasSubstr("cache")));
}

TEST_F(WeightBinding, RandomModelsFollowFromTheSeedAtEveryThreadCount) {
  ThreadPool one(1);
  const auto make = [&](uint64_t seed, ThreadPool* pool) {
    return Logits(
        MakeRandomModel(TinyQwen3(), PackedType::kW4G32, seed, pool, kernels::SelectKernelTable())
            .get());
  };
  EXPECT_EQ(make(5, &one), make(5, &pool_));
  EXPECT_NE(make(5, &one), make(6, &one));
}

}  // namespace
}  // namespace whinchat
