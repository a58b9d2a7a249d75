// SPDX-License-Identifier: Apache-2.0
// A tokenizer from plain arrays, as GGUF's metadata holds one. Reading the file is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

// Fields are named after the keys under tokenizer.ggml; nothing: the file has no such key.
struct VocabArrays {
  std::vector<std::string_view> tokens;  // by id, in the byte-level alphabet
  std::vector<int32_t> token_type;       // by id: 1 normal, 3 control, 4 user-defined, 5 unused
  std::vector<std::string_view> merges;  // by rank: "left right"
  std::string_view model;                // "gpt2": byte-level BPE
  std::string_view pre;                  // which pre-tokenizer: "qwen2", "smollm", ...
  std::optional<int64_t> bos_token_id;
  std::optional<int64_t> eos_token_id;
  std::optional<bool> add_bos_token;  // nothing: what models of this pre-tokenizer do
  std::optional<bool> add_eos_token;
  std::optional<bool> add_space_prefix;
};

// Throws Error{kCorruptFile, kUnsupported} that names the key.
TokenizerSpec MakeTokenizerSpec(const VocabArrays& arrays);

}  // namespace whinchat
