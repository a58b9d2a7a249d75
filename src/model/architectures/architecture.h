// SPDX-License-Identifier: Apache-2.0
// What the decoder must know of one architecture: how its configuration differs from the plain
// decoder's and what its tensors are called. One file here per architecture, one line a projection.
#pragma once

#include <string>
#include <string_view>

#include "model/model_config.h"
#include "model/weight_map.h"

namespace whinchat {

struct Architecture {
  std::string_view name;  // Hugging Face's model_type and GGUF's general.architecture
  void (*complete_config)(ModelConfig* config);
  void (*map_weights)(const ModelConfig& config, WeightMap* map);
};

extern const Architecture kLlamaArchitecture;
extern const Architecture kQwen2Architecture;
extern const Architecture kQwen3Architecture;

// Null if unknown.
const Architecture* FindArchitecture(std::string_view name);
// "llama, qwen2, qwen3".
std::string KnownArchitectureNames();

}  // namespace whinchat
