// SPDX-License-Identifier: Apache-2.0
// Checkpoints without weights, for tests of what is read beside them; and a small tokenizer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/gguf.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

using Files = std::map<std::string, std::string>;
using Json = nlohmann::json;

// A Hugging Face folder of given files.
class FakeFolder final : public Checkpoint {
 public:
  explicit FakeFolder(Files files, Json config = Json::object())
      : files_(std::move(files)), config_(std::move(config)) {}

  CheckpointFormat format() const override { return CheckpointFormat::kHuggingFace; }
  const std::filesystem::path& path() const override { return path_; }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const Json& config() const override { return config_; }
  std::optional<std::string> ReadSideFile(std::string_view file_name) const override {
    const auto found = files_.find(std::string(file_name));
    return found == files_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string Fingerprint() const override { return "fake"; }

 private:
  Files files_;
  Json config_;
  std::filesystem::path path_ = "models/fake";
  std::vector<TensorView> tensors_;
};

// A GGUF file of given metadata.
class FakeGguf final : public GgufCheckpoint {
 public:
  explicit FakeGguf(Json metadata, std::vector<std::string> tokens = {})
      : metadata_(std::move(metadata)), tokens_(std::move(tokens)) {}

  CheckpointFormat format() const override { return CheckpointFormat::kGguf; }
  const std::filesystem::path& path() const override { return path_; }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const Json& config() const override { return metadata_; }
  std::optional<std::string> ReadSideFile(std::string_view /*file_name*/) const override {
    return std::nullopt;
  }
  std::string Fingerprint() const override { return "fake"; }
  std::vector<std::string_view> StringArray(std::string_view key) const override {
    return key == "tokenizer.ggml.tokens"
               ? std::vector<std::string_view>(tokens_.begin(), tokens_.end())
               : std::vector<std::string_view>();
  }
  std::vector<int32_t> IntArray(std::string_view key) const override {
    return key == "tokenizer.ggml.token_type" ? std::vector<int32_t>(tokens_.size(), 1)
                                              : std::vector<int32_t>();
  }
  std::vector<float> FloatArray(std::string_view /*key*/) const override { return {}; }

 private:
  Json metadata_;
  std::vector<std::string> tokens_;
  std::filesystem::path path_ = "models/fake.gguf";
  std::vector<TensorView> tensors_;
};

// Token i is the byte i; then the given words, then the given special tokens.
inline TokenizerSpec MakeByteTokenizerSpec(const std::vector<std::string>& words = {},
                                           const std::vector<std::string>& special = {}) {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    spec.vocab.emplace_back(1, static_cast<char>(byte));
  }
  spec.vocab.insert(spec.vocab.end(), words.begin(), words.end());
  for (const std::string& content : special) {
    const auto id = static_cast<TokenId>(spec.vocab.size());
    spec.vocab.push_back(content);
    spec.added_tokens.push_back({.content = content, .id = id, .is_special = true});
  }
  return spec;
}

}  // namespace whinchat
