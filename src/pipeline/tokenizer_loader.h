// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a checkpoint, from tokenizer.json and tokenizer_config.json or from GGUF
// metadata.
#pragma once

#include "checkpoint/checkpoint.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

// Throws Error{kNotFound} when a Hugging Face folder has no tokenizer.json, Error{kCorruptFile or
// kUnsupported} that names the file and the field.
TokenizerSpec LoadTokenizerSpec(const Checkpoint& checkpoint);

}  // namespace whinchat
