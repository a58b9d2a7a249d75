// SPDX-License-Identifier: Apache-2.0
// Reader of GGUF versions 2 and 3 (little endian), after the specification in ggml's docs/gguf.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace whinchat {

class GgufCheckpoint : public Checkpoint {
 public:
  // Large metadata arrays, as views into the mapping; empty if the key is missing or of another
  // type.
  virtual std::vector<std::string_view> StringArray(std::string_view key) const = 0;
  virtual std::vector<int32_t> IntArray(std::string_view key) const = 0;  // any integer type
  virtual std::vector<float> FloatArray(std::string_view key) const = 0;
};

std::unique_ptr<GgufCheckpoint> OpenGguf(const std::filesystem::path& path);

}  // namespace whinchat
