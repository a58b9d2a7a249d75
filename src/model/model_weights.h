// SPDX-License-Identifier: Apache-2.0
// The weights of a decoder as the forward pass reads them: views into a mapped packed file or into
// memory, both owned here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/anonymous_mapping.h"
#include "checkpoint/packed_file.h"
#include "tensor/panel_matrix.h"

namespace whinchat {

// q_size = num_heads * head_dim, kv_size = num_kv_heads * head_dim.
struct LayerWeights {
  std::span<const float> input_norm;           // [hidden_size]
  PanelMatrix q_proj;                          // [q_size, hidden_size]
  PanelMatrix k_proj;                          // [kv_size, hidden_size]
  PanelMatrix v_proj;                          // [kv_size, hidden_size]
  std::span<const float> q_bias;               // [q_size], or empty
  std::span<const float> k_bias;               // [kv_size], or empty
  std::span<const float> v_bias;               // [kv_size], or empty
  std::span<const float> q_norm;               // [head_dim], or empty
  std::span<const float> k_norm;               // [head_dim], or empty
  PanelMatrix o_proj;                          // [hidden_size, q_size]
  std::span<const float> post_attention_norm;  // [hidden_size]
  PanelMatrix gate_proj;                       // [intermediate_size, hidden_size]
  PanelMatrix up_proj;                         // [intermediate_size, hidden_size]
  PanelMatrix down_proj;                       // [hidden_size, intermediate_size]
};

struct ModelWeights {
  PanelMatrix embed_tokens;  // [vocab_size, hidden_size]
  std::vector<LayerWeights> layers;
  std::span<const float> final_norm;         // [hidden_size]
  PanelMatrix lm_head;                       // [vocab_size, hidden_size]; embed_tokens when tied
  std::span<const float> rope_freq_factors;  // [head_dim / 2], or empty: frequencies are divided

  // What the views point into: one of the two.
  std::unique_ptr<PackedFile> file;
  AnonymousMapping memory;
  size_t total_bytes = 0;
};

}  // namespace whinchat
