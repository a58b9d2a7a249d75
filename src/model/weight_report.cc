// SPDX-License-Identifier: Apache-2.0
// What a decoder's weights are packed as, in one line.
#include <algorithm>
#include <string>
#include <vector>

#include "model/decoder.h"

namespace whinchat {
namespace {

void AddName(PackedType type, std::vector<std::string_view>* names) {
  const std::string_view name = PackedTypeName(type);
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->push_back(name);
  }
}

}  // namespace

std::string Decoder::DescribeWeights() const {
  std::vector<std::string_view> names;
  for (const LayerWeights& layer : weights_->layers) {
    for (const PanelMatrix* matrix : {&layer.q_proj,
                                      &layer.k_proj,
                                      &layer.v_proj,
                                      &layer.o_proj,
                                      &layer.gate_proj,
                                      &layer.up_proj,
                                      &layer.down_proj}) {
      AddName(matrix->type, &names);
    }
  }
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : " + ";
    text += name;
  }
  text += ", head ";
  text += PackedTypeName(weights_->lm_head.type);
  if (!config_.tie_word_embeddings) {
    text += ", embedding ";
    text += PackedTypeName(weights_->embed_tokens.type);
  }
  return text;
}

}  // namespace whinchat
