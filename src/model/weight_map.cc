// SPDX-License-Identifier: Apache-2.0
#include "model/weight_map.h"

#include <fmt/format.h>

namespace whinchat {

void WeightMap::EnterLayer(int layer_idx) {
  own_prefix_ = fmt::format("layers.{}.", layer_idx);
  tensor_prefix_ = format_ == CheckpointFormat::kGguf ? fmt::format("blk.{}.", layer_idx)
                                                      : fmt::format("model.layers.{}.", layer_idx);
}

void WeightMap::LeaveLayers() {
  own_prefix_.clear();
  tensor_prefix_.clear();
}

WeightSpec& WeightMap::Add(const WeightNames& names, std::string_view suffix, MatrixShape shape) {
  const std::string_view stem =
      format_ == CheckpointFormat::kGguf ? names.gguf : names.hugging_face;
  WeightSpec spec;
  spec.name = fmt::format("{}{}", own_prefix_, names.own);
  spec.tensor_name = fmt::format("{}{}{}", tensor_prefix_, stem, suffix);
  spec.shape = shape;
  return specs_.emplace_back(std::move(spec));
}

void WeightMap::Matrix(const WeightNames& names, MatrixShape shape, PanelMatrix* matrix) {
  Add(names, ".weight", shape).matrix = matrix;
}

void WeightMap::Rotary(const WeightNames& names, MatrixShape shape, PanelMatrix* matrix) {
  WeightSpec& spec = Add(names, ".weight", shape);
  spec.matrix = matrix;
  spec.interleaved_head_dim = format_ == CheckpointFormat::kGguf ? head_dim_ : 0;
}

void WeightMap::Norm(const WeightNames& names, int k, std::span<const float>* gain) {
  Add(names, ".weight", {1, k}).vector = gain;
}

void WeightMap::Bias(const WeightNames& names, int k, std::span<const float>* bias) {
  Add(names, ".bias", {1, k}).vector = bias;
}

void WeightMap::OptionalGgufVector(const WeightNames& names,
                                   int k,
                                   std::span<const float>* vector) {
  if (format_ == CheckpointFormat::kGguf) {
    WeightSpec& spec = Add(names, ".weight", {1, k});
    spec.vector = vector;
    spec.is_optional = true;
  }
}

}  // namespace whinchat
