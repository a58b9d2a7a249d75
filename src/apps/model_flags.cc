// SPDX-License-Identifier: Apache-2.0
#include "apps/model_flags.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "hub/model_store.h"

namespace whinchat::apps {
namespace {

std::string ReadTextFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    ThrowError(ErrorCode::kNotFound, "can't open '{}'", path);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void PrintProgress(std::string_view stage, double fraction) {
  std::fprintf(stderr,
               "\r\033[K%.*s %3.0f %%",
               static_cast<int>(stage.size()),
               stage.data(),
               fraction * 100);
  if (fraction >= 1) {
    std::fputs("\r\033[K", stderr);
  }
  std::fflush(stderr);
}

// Takes the place of the progress that stands in the line.
void PrintWarning(const std::string& message) {
  const char* erase_line = ::isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  std::fprintf(stderr, "%swhinchat: warning: %s\n", erase_line, message.c_str());
}

}  // namespace

void AddModelFlags(CLI::App* command, ModelFlags* flags) {
  command->add_option("--model,-m",
                      flags->model,
                      "Path or name of the model (default: a local Qwen3-0.6B, else SmolLM2)");
  command->add_option("--dtype",
                      flags->dtype,
                      "auto: int8 or int4 as the file has it; float32, bfloat16: reference path");
  command->add_option(
      "--chat-template", flags->chat_template, "A Jinja file instead of the model's");
  command->add_option("--default-chat-template-kwargs",
                      flags->default_template_kwargs,
                      "JSON, for example '{\"enable_thinking\": true}'");
  command->add_option("--threads,-t", flags->threads, "Threads (default: this machine's big cores)")
      ->check(CLI::Range(0, 256));
  command->add_option("--max-model-len", flags->max_model_len, "Tokens of prompt and answer")
      ->check(CLI::Range(16, 1 << 20));
  command->add_option("--memory", flags->memory_mib, "Memory budget in MiB")
      ->check(CLI::Range(uint64_t{16}, uint64_t{1} << 24));
  command->add_option("--max-num-seqs", flags->max_num_seqs, "Answers computed at once")
      ->check(CLI::Range(1, 256));
  command
      ->add_option(
          "--max-num-batched-tokens", flags->max_num_batched_tokens, "Tokens computed in one step")
      ->check(CLI::Range(1, 8192));
  command->add_flag("!--no-enable-prefix-caching,--enable-prefix-caching",
                    flags->enable_prefix_caching,
                    "Reuse what earlier prompts computed");
  command->add_flag("!--no-packed-cache",
                    flags->enable_packed_cache,
                    "Don't keep a packed copy of the weights in the cache folder");
}

WeightMode ParseWeightMode(const std::string& dtype) {
  if (dtype == "auto") {
    return WeightMode::kAuto;
  }
  if (dtype == "float32" || dtype == "float") {
    return WeightMode::kF32;
  }
  if (dtype == "bfloat16") {
    return WeightMode::kBF16;
  }
  ThrowError(
      ErrorCode::kInvalidArgument, "--dtype must be auto, float32 or bfloat16, not '{}'", dtype);
}

nlohmann::ordered_json ParseTemplateKwargs(const ModelFlags& flags) {
  const std::string& text = flags.default_template_kwargs;
  if (text.empty()) {
    return nlohmann::ordered_json::object();
  }
  auto kwargs = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!kwargs.is_object()) {
    ThrowError(ErrorCode::kInvalidArgument,
               "--default-chat-template-kwargs must be a JSON object, not '{}'",
               text);
  }
  return kwargs;
}

LoadOptions ToLoadOptions(const ModelFlags& flags) {
  LoadOptions options;
  options.model_path = ResolveModel(flags.model).path;
  options.weights = ParseWeightMode(flags.dtype);
  if (flags.enable_packed_cache) {
    options.packed_cache_dir = CacheFolder() / "packed";
  }
  if (!flags.chat_template.empty()) {
    options.chat_template = ReadTextFile(flags.chat_template);
  }
  const nlohmann::ordered_json kwargs = ParseTemplateKwargs(flags);
  const auto thinking = kwargs.find("enable_thinking");
  options.enable_thinking =
      thinking != kwargs.end() && thinking->is_boolean() && thinking->get<bool>();
  options.num_threads = flags.threads;
  options.max_model_len = flags.max_model_len;
  if (flags.memory_mib) {
    options.memory_bytes = static_cast<size_t>(*flags.memory_mib) << 20;
  }
  options.max_num_seqs = flags.max_num_seqs;
  options.max_num_batched_tokens = flags.max_num_batched_tokens;
  options.enable_prefix_caching = flags.enable_prefix_caching;
  return options;
}

std::unique_ptr<TextGenerator> LoadGenerator(const ModelFlags& flags) {
  LoadOptions options = ToLoadOptions(flags);
  if (::isatty(STDERR_FILENO) != 0) {
    options.on_progress = PrintProgress;
  }
  options.on_warning = PrintWarning;
  return TextGenerator::Load(options);
}

}  // namespace whinchat::apps
