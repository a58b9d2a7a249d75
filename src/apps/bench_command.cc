// SPDX-License-Identifier: Apache-2.0
// `whinchat bench`: prefill and decode speed of a model file, or of a true shape with random
// weights (no download needed), straight at the model: no server, no tokenizer.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/model_flags.h"
#include "base/cpu_topology.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "hub/model_store.h"
#include "model/model.h"

namespace whinchat::apps {
namespace {

struct BenchFlags {
  std::string model;
  std::string shape;
  std::string packed_type = "w4_g32";
  std::string dtype = "auto";
  int threads = 0;
  int num_prefill_tokens = 512;
  int num_decode_tokens = 64;
  int depth = 0;  // tokens in the cache before decode is timed
  int num_repetitions = 5;
  bool prints_json = false;
};

struct NamedShape {
  const char* name;
  ModelConfig config;
};

std::vector<NamedShape> KnownShapes() {
  ModelConfig qwen3;
  qwen3.architecture = "qwen3";
  qwen3.hidden_size = 1024;
  qwen3.intermediate_size = 3072;
  qwen3.num_layers = 28;
  qwen3.num_heads = 16;
  qwen3.num_kv_heads = 8;
  qwen3.head_dim = 128;
  qwen3.vocab_size = 151936;
  qwen3.max_seq_len = 40960;
  qwen3.rope_theta = 1e6F;
  qwen3.tie_word_embeddings = true;
  qwen3.has_qk_norm = true;
  ModelConfig qwen3_large = qwen3;
  qwen3_large.hidden_size = 2048;
  qwen3_large.intermediate_size = 6144;
  ModelConfig smollm2 = qwen3;
  smollm2.architecture = "llama";
  smollm2.hidden_size = 576;
  smollm2.intermediate_size = 1536;
  smollm2.num_layers = 30;
  smollm2.num_heads = 9;
  smollm2.num_kv_heads = 3;
  smollm2.head_dim = 64;
  smollm2.vocab_size = 49152;
  smollm2.max_seq_len = 8192;
  smollm2.rope_theta = 1e5F;
  smollm2.rms_norm_eps = 1e-5F;
  smollm2.has_qk_norm = false;
  return {{"qwen3-0.6b", qwen3}, {"qwen3-1.7b", qwen3_large}, {"smollm2-135m", smollm2}};
}

ModelConfig FindShape(const std::string& name) {
  std::string known;
  for (const NamedShape& shape : KnownShapes()) {
    if (name == shape.name) {
      return shape.config;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", shape.name);
  }
  ThrowError(ErrorCode::kInvalidArgument, "--shape must be one of {}, not '{}'", known, name);
}

PackedType FindPackedType(const std::string& name) {
  for (const PackedType type :
       {PackedType::kW8G32, PackedType::kW8G32Min, PackedType::kW4G32, PackedType::kW4G32Min}) {
    if (name == PackedTypeName(type)) {
      return type;
    }
  }
  ThrowError(ErrorCode::kInvalidArgument,
             "--packed-type must be w8_g32, w8_g32_min, w4_g32 or w4_g32_min, not '{}'",
             name);
}

std::unique_ptr<Model> LoadBenchModel(const BenchFlags& flags, ThreadPool* pool) {
  const kernels::KernelTable& table = kernels::SelectKernelTable();
  if (!flags.shape.empty()) {
    return MakeRandomModel(
        FindShape(flags.shape), FindPackedType(flags.packed_type), /*seed=*/1, pool, table);
  }
  ModelOptions options;
  options.weights = ParseWeightMode(flags.dtype);
  options.packed_cache_dir = CacheFolder() / "packed";
  return Model::Load(*OpenCheckpoint(ResolveModel(flags.model).path), options, pool, table);
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One sequence in blocks of its own, fed any number of tokens at a time.
class BenchSequence {
 public:
  BenchSequence(Model* model, int max_tokens)
      : model_(model),
        cache_(model->kv_layout(), (max_tokens + kKvBlockTokens - 1) / kKvBlockTokens),
        block_table_(static_cast<size_t>(cache_.num_blocks())) {
    std::iota(block_table_.begin(), block_table_.end(), 0);
  }

  void Rewind(int position) { position_ = position; }

  // Computes the next tokens in one batch, logits of the last.
  void Feed(int num_tokens) {
    std::vector<TokenId> token_ids(static_cast<size_t>(num_tokens));
    for (TokenId& id : token_ids) {
      next_token_ = (next_token_ * 1103 + 12345) % model_->config().vocab_size;
      id = next_token_;
    }
    ForwardBatch batch;
    batch.chunks.push_back({token_ids, position_, block_table_, /*num_logits=*/1});
    model_->Forward(batch, &cache_);
    position_ += num_tokens;
  }

 private:
  Model* model_;
  PagedKvCache cache_;
  std::vector<BlockId> block_table_;
  int position_ = 0;
  TokenId next_token_ = 1;
};

struct BenchResult {
  std::vector<double> prefill_tokens_per_second;
  std::vector<double> decode_tokens_per_second;
};

constexpr int kChunkTokens = 512;

void FeedInChunks(BenchSequence* sequence, int num_tokens) {
  for (int fed = 0; fed < num_tokens; fed += kChunkTokens) {
    sequence->Feed(std::min(kChunkTokens, num_tokens - fed));
  }
}

BenchResult RunBench(Model* model, const BenchFlags& flags) {
  const int max_tokens =
      std::max(flags.num_prefill_tokens, flags.depth + flags.num_decode_tokens) + 1;
  model->Reserve(kChunkTokens, /*max_logits=*/1);
  BenchSequence sequence(model, max_tokens);
  FeedInChunks(&sequence, std::max(flags.depth, 32));  // warms caches and maps pages
  BenchResult result;
  for (int i = 0; i < flags.num_repetitions; ++i) {
    if (flags.num_prefill_tokens > 0) {
      sequence.Rewind(0);
      const auto start = std::chrono::steady_clock::now();
      FeedInChunks(&sequence, flags.num_prefill_tokens);
      result.prefill_tokens_per_second.push_back(flags.num_prefill_tokens / SecondsSince(start));
    }
    if (flags.num_decode_tokens > 0) {
      sequence.Rewind(flags.depth);
      const auto start = std::chrono::steady_clock::now();
      for (int token = 0; token < flags.num_decode_tokens; ++token) {
        sequence.Feed(1);
      }
      result.decode_tokens_per_second.push_back(flags.num_decode_tokens / SecondsSince(start));
    }
  }
  return result;
}

nlohmann::ordered_json ToJson(const BenchResult& result,
                              const Model& model,
                              const BenchFlags& flags,
                              int num_threads) {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::ordered_json json;
  json["model"] = flags.shape.empty() ? flags.model : flags.shape;
  json["weights"] = model.DescribeWeights();
  json["weight_bytes"] = model.WeightBytes();
  json["isa"] = kernels::IsaName(kernels::SelectKernelTable().isa);
  json["cpu"] = kernels::DescribeCpu();
  json["threads"] = num_threads;
  json["depth"] = flags.depth;
  json["peak_rss_bytes"] = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  if (!result.prefill_tokens_per_second.empty()) {
    json["prefill_tokens"] = flags.num_prefill_tokens;
    json["prefill_tokens_per_second"] = Median(result.prefill_tokens_per_second);
  }
  if (!result.decode_tokens_per_second.empty()) {
    const double rate = Median(result.decode_tokens_per_second);
    json["decode_tokens"] = flags.num_decode_tokens;
    json["decode_tokens_per_second"] = rate;
    // Weights are read once a token; embeddings only where they are the head too.
    json["decode_weight_gb_per_second"] = rate * static_cast<double>(model.WeightBytes()) * 1e-9;
  }
  return json;
}

void PrintTable(const nlohmann::ordered_json& json) {
  for (const auto& [key, value] : json.items()) {
    const std::string text = value.is_number_float() ? fmt::format("{:.1f}", value.get<double>())
                             : value.is_string()     ? value.get<std::string>()
                                                     : value.dump();
    std::printf("%-30s %s\n", key.c_str(), text.c_str());
  }
}

void Bench(const BenchFlags& flags) {
  const int num_threads =
      flags.threads > 0 ? flags.threads : DefaultNumThreads(ReadCpuTopology(AllowedCpus()));
  ThreadPool pool(num_threads);
  const std::unique_ptr<Model> model = LoadBenchModel(flags, &pool);
  const BenchResult result = RunBench(model.get(), flags);
  const nlohmann::ordered_json json = ToJson(result, *model, flags, num_threads);
  if (flags.prints_json) {
    std::printf("%s\n", json.dump().c_str());
  } else {
    PrintTable(json);
  }
}

}  // namespace

void AddBenchCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("bench", "Measure prefill and decode speed");
  auto flags = std::make_shared<BenchFlags>();
  command->add_option("--model,-m", flags->model, "Path or name (default: the default model)");
  command->add_option(
      "--shape", flags->shape, "Random weights: qwen3-0.6b, qwen3-1.7b, smollm2-135m");
  command->add_option("--packed-type", flags->packed_type, "With --shape: w8_g32, w4_g32, ..._min");
  command->add_option("--dtype", flags->dtype, "auto, float32 or bfloat16");
  command->add_option("--threads,-t", flags->threads)->check(CLI::Range(0, 256));
  command->add_option("--prefill", flags->num_prefill_tokens)->check(CLI::Range(0, 1 << 17));
  command->add_option("--decode", flags->num_decode_tokens)->check(CLI::Range(0, 1 << 17));
  command->add_option("--depth", flags->depth, "Tokens before decode")
      ->check(CLI::Range(0, 1 << 17));
  command->add_option("--repetitions,-r", flags->num_repetitions)->check(CLI::Range(1, 1000));
  command->add_flag("--json", flags->prints_json);
  command->callback([flags, exit_code] {
    Bench(*flags);
    *exit_code = 0;
  });
}

}  // namespace whinchat::apps
