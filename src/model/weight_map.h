// SPDX-License-Identifier: Apache-2.0
// The list of a model's weights that an architecture writes down: for each its names, its shape and
// the view to bind. Binding, packing and the random model all walk this one list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/model_weights.h"

namespace whinchat {

// The names of one weight, without the layer's prefix and without ".weight" or ".bias".
struct WeightNames {
  std::string_view own;           // "q_proj": packed files and messages
  std::string_view hugging_face;  // "self_attn.q_proj"
  std::string_view gguf;          // "attn_q"
};

struct MatrixShape {
  int n = 0;  // outputs
  int k = 0;  // inputs
};

struct WeightSpec {
  std::string name;         // "layers.3.q_proj"
  std::string tensor_name;  // what this checkpoint calls it
  MatrixShape shape;        // n = 1 for vectors
  bool is_optional = false;
  int interleaved_head_dim = 0;              // > 0: see WeightMap::Rotary
  PanelMatrix* matrix = nullptr;             // the view to bind: this one,
  std::span<const float>* vector = nullptr;  // or this one
};

class WeightMap {
 public:
  // `weights` must have its layers already and outlive the map.
  WeightMap(CheckpointFormat format, int head_dim, ModelWeights* weights)
      : format_(format), head_dim_(head_dim), weights_(weights) {}

  ModelWeights& weights() { return *weights_; }
  const std::vector<WeightSpec>& specs() const { return specs_; }

  // Names from here on get the prefix of this layer ("model.layers.3." or "blk.3.").
  void EnterLayer(int layer_idx);
  void LeaveLayers();

  void Matrix(const WeightNames& names, MatrixShape shape, PanelMatrix* matrix);
  // q_proj and k_proj of GGUF's `llama`: the rows of each head are stored for interleaved rotation
  // (pairs side by side) and are put back into Hugging Face's halves when packed.
  void Rotary(const WeightNames& names, MatrixShape shape, PanelMatrix* matrix);
  void Norm(const WeightNames& names, int k, std::span<const float>* gain);
  void Bias(const WeightNames& names, int k, std::span<const float>* bias);
  // Bound only where the checkpoint is a GGUF file that has it.
  void OptionalGgufVector(const WeightNames& names, int k, std::span<const float>* vector);

 private:
  WeightSpec& Add(const WeightNames& names, std::string_view suffix, MatrixShape shape);

  CheckpointFormat format_;
  int head_dim_;  // for Rotary
  ModelWeights* weights_;
  std::string own_prefix_;
  std::string tensor_prefix_;
  std::vector<WeightSpec> specs_;
};

}  // namespace whinchat
