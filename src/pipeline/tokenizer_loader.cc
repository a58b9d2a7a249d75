// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tokenizer_loader.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/gguf.h"
#include "pipeline/side_file.h"
#include "tokenizer/vocab_arrays.h"

namespace whinchat {
namespace {

using Json = nlohmann::json;

// tokenizer_config.json writes a special token as its text or as an object with the text in it.
std::optional<std::string> SpecialTokenText(const Json& config, const char* key) {
  if (const auto text = FindString(config, key)) {
    return text;
  }
  const auto found = config.find(key);
  return found != config.end() && found->is_object() ? FindString(*found, "content") : std::nullopt;
}

std::optional<TokenId> FindTokenId(const TokenizerSpec& spec, const std::string& text) {
  for (const AddedToken& token : spec.added_tokens) {
    if (token.content == text) {
      return token.id;
    }
  }
  const auto found = std::find(spec.vocab.begin(), spec.vocab.end(), text);
  return found == spec.vocab.end()
             ? std::nullopt
             : std::optional(static_cast<TokenId>(found - spec.vocab.begin()));
}

TokenizerSpec LoadFromHuggingFace(const Checkpoint& checkpoint) {
  const std::optional<std::string> text = checkpoint.ReadSideFile("tokenizer.json");
  if (!text) {
    ThrowError(ErrorCode::kNotFound,
               "'{}' is missing: copy the model's tokenizer files beside its weights",
               SideFileLabel(checkpoint, "tokenizer.json"));
  }
  TokenizerSpec spec = ParseTokenizerJson(*text, SideFileLabel(checkpoint, "tokenizer.json"));
  const Json config = ReadJsonSideFile(checkpoint, "tokenizer_config.json");
  if (const auto bos_token = SpecialTokenText(config, "bos_token")) {
    spec.bos_token_id = FindTokenId(spec, *bos_token);
  }
  if (const auto eos_token = SpecialTokenText(config, "eos_token")) {
    spec.eos_token_id = FindTokenId(spec, *eos_token);
  }
  // Says what the post-processor of tokenizer.json does, where both are there.
  spec.add_bos = FindBool(config, "add_bos_token").value_or(spec.add_bos);
  spec.add_eos = FindBool(config, "add_eos_token").value_or(spec.add_eos);
  return spec;
}

TokenizerSpec LoadFromGguf(const GgufCheckpoint& checkpoint) {
  const Json& metadata = checkpoint.config();
  const std::string model = FindString(metadata, "tokenizer.ggml.model").value_or("");
  const std::string pre = FindString(metadata, "tokenizer.ggml.pre").value_or("");
  VocabArrays arrays;
  arrays.tokens = checkpoint.StringArray("tokenizer.ggml.tokens");
  arrays.token_type = checkpoint.IntArray("tokenizer.ggml.token_type");
  arrays.merges = checkpoint.StringArray("tokenizer.ggml.merges");
  arrays.model = model;
  arrays.pre = pre;
  arrays.bos_token_id = FindInteger(metadata, "tokenizer.ggml.bos_token_id");
  arrays.eos_token_id = FindInteger(metadata, "tokenizer.ggml.eos_token_id");
  arrays.add_bos_token = FindBool(metadata, "tokenizer.ggml.add_bos_token");
  arrays.add_eos_token = FindBool(metadata, "tokenizer.ggml.add_eos_token");
  arrays.add_space_prefix = FindBool(metadata, "tokenizer.ggml.add_space_prefix");
  return MakeTokenizerSpec(arrays);
}

}  // namespace

TokenizerSpec LoadTokenizerSpec(const Checkpoint& checkpoint) {
  if (checkpoint.format() == CheckpointFormat::kHuggingFace) {
    return LoadFromHuggingFace(checkpoint);
  }
  const auto* gguf = dynamic_cast<const GgufCheckpoint*>(&checkpoint);
  WHINCHAT_CHECK(gguf != nullptr);
  return LoadFromGguf(*gguf);
}

}  // namespace whinchat
