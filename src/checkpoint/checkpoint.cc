// SPDX-License-Identifier: Apache-2.0
// Finds out what a path is and opens it with the reader of its format.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/gguf.h"
#include "checkpoint/hugging_face.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

using Path = std::filesystem::path;

std::string LowercaseExtension(const Path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return extension;
}

bool IsFolder(const Path& file) {
  std::error_code error;
  return std::filesystem::is_directory(file, error);
}

std::vector<Path> ListGgufFiles(const Path& folder) {
  std::vector<Path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (LowercaseExtension(entry.path()) == ".gguf") {
      files.push_back(entry.path());
    }
  }
  if (error) {
    ThrowError(ErrorCode::kIo, "can't list the folder '{}': {}", folder.string(), error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::unique_ptr<Checkpoint> OpenFolder(const Path& folder) {
  std::error_code error;
  const std::vector<Path> gguf_files = ListGgufFiles(folder);
  if (std::filesystem::exists(folder / "config.json", error) || gguf_files.empty()) {
    return OpenHuggingFace(folder);
  }
  if (gguf_files.size() > 1) {
    ThrowError(ErrorCode::kInvalidArgument,
               "'{}' has {} GGUF files; give one of them, for example '{}'",
               folder.string(),
               gguf_files.size(),
               gguf_files.front().string());
  }
  return OpenGguf(gguf_files.front());
}

// Files without a telling name, such as the blobs of a download cache.
std::unique_ptr<Checkpoint> OpenByContents(const Path& file) {
  const MappedFile mapped(file);
  constexpr std::array<std::byte, 4> kGgufMagic = {
      std::byte{'G'}, std::byte{'G'}, std::byte{'U'}, std::byte{'F'}};
  const auto bytes = mapped.bytes();
  if (bytes.size() >= kGgufMagic.size() &&
      std::equal(kGgufMagic.begin(), kGgufMagic.end(), bytes.begin())) {
    return OpenGguf(file);
  }
  ThrowError(ErrorCode::kUnsupported,
             "'{}' is {}; models are opened from a .gguf file or a Hugging Face folder",
             file.string(),
             DescribeForeignBytes(bytes, "model"));
}

}  // namespace

const TensorView* Checkpoint::FindTensor(std::string_view name) const {
  for (const TensorView& tensor : tensors()) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

std::unique_ptr<Checkpoint> OpenCheckpoint(const Path& checkpoint_path) {
  std::error_code error;
  if (!std::filesystem::exists(checkpoint_path, error)) {
    ThrowError(error && error != std::errc::no_such_file_or_directory ? ErrorCode::kIo
                                                                      : ErrorCode::kNotFound,
               "there is no model at '{}'{}",
               checkpoint_path.string(),
               error ? ": " + error.message() : "");
  }
  if (IsFolder(checkpoint_path)) {
    return OpenFolder(checkpoint_path);
  }
  const std::string extension = LowercaseExtension(checkpoint_path);
  const Path folder = checkpoint_path.has_parent_path() ? checkpoint_path.parent_path() : ".";
  if (extension == ".gguf") {
    return OpenGguf(checkpoint_path);
  }
  if (extension == ".safetensors") {
    return OpenHuggingFace(folder, checkpoint_path);
  }
  const std::string name = checkpoint_path.filename().string();
  if (name == "config.json" || name == "model.safetensors.index.json") {
    return OpenHuggingFace(folder);
  }
  return OpenByContents(checkpoint_path);
}

}  // namespace whinchat
