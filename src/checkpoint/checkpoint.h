// SPDX-License-Identifier: Apache-2.0
// A model as someone published it: a GGUF file, or a Hugging Face folder (config.json, safetensors,
// tokenizer.json, ...). Opened by mapping; tensors are views into the mapping. Everything is
// checked when opened: offsets, sizes, overlaps, dtypes, counts; a bad file throws
// Error{kCorruptFile or kUnsupported} that names the file, the tensor or key, and what was
// expected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor_view.h"

namespace whinchat {

enum class CheckpointFormat { kGguf, kHuggingFace };

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  virtual CheckpointFormat format() const = 0;
  virtual const std::filesystem::path& path() const = 0;

  // All tensors, in file order. Views are valid as long as this object lives. Their bytes may start
  // at any address (safetensors do not align): read them by memcpy or kernels::DequantizeRow.
  virtual const std::vector<TensorView>& tensors() const = 0;
  // Nothing if there is no tensor of that name.
  const TensorView* FindTensor(std::string_view name) const;

  // Hugging Face: config.json. GGUF: its metadata as one flat object ("llama.block_count": 30);
  // arrays of more than 1,024 elements (the vocabulary) are left out, see GgufCheckpoint.
  virtual const nlohmann::json& config() const = 0;

  // Hugging Face: the text of a file beside the weights ("tokenizer.json",
  // "generation_config.json", "chat_template.jinja", "tokenizer_config.json"). Nothing if there is
  // none. GGUF: nothing.
  virtual std::optional<std::string> ReadSideFile(std::string_view file_name) const = 0;

  // Size and mtime of the files: changes whenever the weights may have (key of packed files).
  virtual std::string Fingerprint() const = 0;
};

// Opens a .gguf file, a folder, or a config.json / .safetensors file inside one. A folder without a
// config.json but with one .gguf file is that file; a file without a telling name that starts as
// GGUF does is opened as such (download caches name files by their hash).
std::unique_ptr<Checkpoint> OpenCheckpoint(const std::filesystem::path& path);

}  // namespace whinchat
