// SPDX-License-Identifier: Apache-2.0
// The flags that every command with a model shares, under vLLM's names where vLLM has one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "pipeline/text_generator.h"

namespace whinchat::apps {

struct ModelFlags {
  std::string model;                    // a path or a name; empty: the default
  std::string dtype = "auto";           // auto, float32, bfloat16
  std::string chat_template;            // a file
  std::string default_template_kwargs;  // JSON
  int threads = 0;
  std::optional<int> max_model_len;
  std::optional<uint64_t> memory_mib;
  int max_num_seqs = 8;
  int max_num_batched_tokens = 512;
  bool enable_prefix_caching = true;
  bool enable_packed_cache = true;
};

void AddModelFlags(CLI::App* command, ModelFlags* flags);

// "auto", "float32", "bfloat16" (or vLLM's short forms). Throws Error{kInvalidArgument}.
WeightMode ParseWeightMode(const std::string& dtype);

// Resolves the model's name and reads the files that flags point to.
LoadOptions ToLoadOptions(const ModelFlags& flags);

// --default-chat-template-kwargs as an object. Throws Error{kInvalidArgument} if it is none.
nlohmann::ordered_json ParseTemplateKwargs(const ModelFlags& flags);

// Loads with a progress line on standard error when that is a terminal.
std::unique_ptr<TextGenerator> LoadGenerator(const ModelFlags& flags);

}  // namespace whinchat::apps
