// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, read event by event: no document is built, so memory
// stays in proportion to the tensors even for a hostile header of 100 MB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "BF16"; not checked yet
  std::vector<int64_t> shape;
  std::vector<uint64_t> offsets;  // begin and end in the data
};

// Every entry has a dtype, a shape and two offsets; no name comes twice. `file` is for messages.
// Throws Error{kCorruptFile}.
std::vector<SafetensorsEntry> ReadSafetensorsHeader(std::string_view header,
                                                    const std::string& file);

}  // namespace whinchat
