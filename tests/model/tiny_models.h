// SPDX-License-Identifier: Apache-2.0
// Shapes small enough for scalar kernels and sanitizers, each with something awkward.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_config.h"

namespace whinchat {

// Grouped heads, QK norms, head_dim apart from hidden_size / num_heads, tied head, odd vocabulary.
inline ModelConfig TinyQwen3() {
  ModelConfig config;
  config.architecture = "qwen3";
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 32;
  config.vocab_size = 101;
  config.max_seq_len = 1024;
  config.has_qk_norm = true;
  config.tie_word_embeddings = true;
  return config;
}

// Groups of three query heads of 16: a group's 48 columns don't fill blocks of 32 that o_proj's
// input is quantized in, and neither heads nor panels divide evenly among threads. Untied head.
inline ModelConfig TinyLlama() {
  ModelConfig config;
  config.architecture = "llama";
  config.hidden_size = 96;
  config.intermediate_size = 160;
  config.num_layers = 2;
  config.num_heads = 6;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.vocab_size = 67;
  config.max_seq_len = 1024;
  return config;
}

// A hidden size that is no multiple of the group: all but o_proj and down_proj stay floats.
inline ModelConfig TinyQwen2() {
  ModelConfig config = TinyLlama();
  config.architecture = "qwen2";
  config.has_attention_bias = true;
  config.hidden_size = 80;
  config.num_heads = 4;
  return config;
}

inline std::vector<TokenId> SomeTokens(int count, int vocab_size, uint32_t seed) {
  std::vector<TokenId> tokens;
  uint32_t state = seed * 2654435761U + 12345U;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.push_back(static_cast<TokenId>((state >> 8) % static_cast<uint32_t>(vocab_size)));
  }
  return tokens;
}

}  // namespace whinchat
