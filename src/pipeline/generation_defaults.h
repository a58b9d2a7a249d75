// SPDX-License-Identifier: Apache-2.0
// How a model wants to be sampled and what ends its turn, from generation_config.json or GGUF
// metadata, completed by what is known of the model's family.
#pragma once

#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "sampling/sampling_params.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

// Sampling defaults of the model (generation_config.json), by thinking mode.
struct GenerationDefaults {
  SamplingParams thinking;
  SamplingParams non_thinking;
  std::vector<TokenId> eos_token_ids;
};

// `architecture` as ModelConfig has it. Throws Error{kCorruptFile} on a generation_config.json that
// is no JSON object or has values out of range.
GenerationDefaults ReadGenerationDefaults(const Checkpoint& checkpoint,
                                          const Tokenizer& tokenizer,
                                          std::string_view architecture);

}  // namespace whinchat
