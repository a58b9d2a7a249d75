// SPDX-License-Identifier: Apache-2.0
// Speed of the forward pass alone: prefill of a prompt and decode behind it, no sampling, no text.
// Median of several runs. A model file, or the true shape of Qwen3-0.6B with random weights.
//
//   forward_bench --model FILE | --random w4_g32|w8_g32 [--threads N] [--prompt N] [--tokens N]
//                 [--runs N]
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace whinchat {
namespace {

using Clock = std::chrono::steady_clock;

ModelConfig Qwen3Shape() {
  ModelConfig config;
  config.architecture = "qwen3";
  config.hidden_size = 1024;
  config.intermediate_size = 3072;
  config.num_layers = 28;
  config.num_heads = 16;
  config.num_kv_heads = 8;
  config.head_dim = 128;
  config.vocab_size = 151936;
  config.max_seq_len = 40960;
  config.rope_theta = 1e6F;
  config.tie_word_embeddings = true;
  config.has_qk_norm = true;
  return config;
}

double Milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
      values_[argv[i]] = argv[i + 1];
    }
  }

  std::string Text(const std::string& flag) const {
    const auto found = values_.find(flag);
    return found == values_.end() ? "" : found->second;
  }

  int Number(const std::string& flag, int fallback) const {
    const std::string text = Text(flag);
    int number = fallback;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

 private:
  std::map<std::string, std::string> values_;
};

std::unique_ptr<Model> MakeModel(const Options& options, ThreadPool* pool) {
  const kernels::KernelTable& kernel_table = kernels::SelectKernelTable();
  if (!options.Text("--model").empty()) {
    return Model::Load(*OpenCheckpoint(options.Text("--model")), {}, pool, kernel_table);
  }
  for (const PackedType type : {PackedType::kW4G32, PackedType::kW8G32}) {
    if (options.Text("--random") == PackedTypeName(type)) {
      return MakeRandomModel(Qwen3Shape(), type, /*seed=*/1, pool, kernel_table);
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "give --model FILE or --random w4_g32|w8_g32");
}

void Run(const Options& options) {
  ThreadPool pool(options.Number("--threads", 2));
  const int prompt_tokens = options.Number("--prompt", 512);
  const int answer_tokens = options.Number("--tokens", 64);
  const Clock::time_point load_begin = Clock::now();
  const std::unique_ptr<Model> model = MakeModel(options, &pool);
  const double load_ms = Milliseconds(load_begin);
  model->Reserve(/*max_tokens=*/512, /*max_logits=*/1);
  const int num_blocks = (prompt_tokens + answer_tokens) / kKvBlockTokens + 1;
  PagedKvCache cache(model->kv_layout(), num_blocks);
  std::vector<BlockId> blocks;
  for (int i = 0; i < num_blocks; ++i) {
    blocks.push_back(i);
  }
  std::vector<TokenId> tokens;
  for (int i = 0; i < prompt_tokens + answer_tokens; ++i) {
    tokens.push_back(i * 7919 % model->config().vocab_size);
  }
  const auto forward = [&](int begin, int count) {
    ForwardBatch batch;
    batch.chunks.push_back(
        {std::span(tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
         begin,
         blocks,
         /*num_logits=*/1});
    model->Forward(batch, &cache);
  };
  std::vector<double> prefill_ms;
  std::vector<double> decode_ms;
  for (int run = 0; run < options.Number("--runs", 5); ++run) {
    const Clock::time_point prefill_begin = Clock::now();
    for (int i = 0; i < prompt_tokens; i += 512) {
      forward(i, std::min(512, prompt_tokens - i));
    }
    prefill_ms.push_back(Milliseconds(prefill_begin));
    const Clock::time_point decode_begin = Clock::now();
    for (int i = 0; i < answer_tokens; ++i) {
      forward(prompt_tokens + i, 1);
    }
    decode_ms.push_back(Milliseconds(decode_begin));
  }
  fmt::print("{} | {} | {} threads | load {:.0f} ms | weights {} MB, scratch {} MB\n",
             kernels::IsaName(kernels::SelectKernelTable().isa),
             model->DescribeWeights(),
             pool.num_threads(),
             load_ms,
             model->WeightBytes() >> 20,
             model->ScratchBytes(512) >> 20);
  fmt::print(
      "prefill {} tokens: {:.1f} tokens/s | decode {} tokens: {:.2f} ms each, {:.1f} tokens/s\n",
      prompt_tokens,
      1000.0 * prompt_tokens / Median(prefill_ms),
      answer_tokens,
      Median(decode_ms) / answer_tokens,
      1000.0 * answer_tokens / Median(decode_ms));
}

}  // namespace
}  // namespace whinchat

int main(int argc, char** argv) {
  try {
    whinchat::Run(whinchat::Options(argc, argv));
  } catch (const whinchat::Error& error) {
    fmt::print(stderr, "forward_bench: {}\n", error.message());
    return 1;
  }
  return 0;
}
