// SPDX-License-Identifier: Apache-2.0
// Makes the bytes of GGUF files for tests, wrong ones too: nothing is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf_parser.h"

namespace whinchat {

// The bytes of a number, little endian.
template <typename T>
std::string LittleEndian(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string GgufString(std::string_view text) {
  return LittleEndian<uint64_t>(text.size()) + std::string(text);
}

class GgufBytes {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;    // of the data's start only; not a key
  int64_t extra_tensors = 0;  // added to the counts in the header
  int64_t extra_pairs = 0;

  // A pair with its value's bytes as they are.
  GgufBytes& AddRaw(std::string_view key, GgufValueType type, std::string_view value) {
    pairs_ += GgufString(key) + LittleEndian(static_cast<uint32_t>(type)) + std::string(value);
    ++num_pairs_;
    return *this;
  }
  template <typename T>
  GgufBytes& Add(std::string_view key, GgufValueType type, T value) {
    return AddRaw(key, type, LittleEndian(value));
  }
  GgufBytes& AddString(std::string_view key, std::string_view value) {
    return AddRaw(key, GgufValueType::kString, GgufString(value));
  }
  GgufBytes& AddArray(std::string_view key,
                      GgufValueType type,
                      uint64_t num_elements,
                      std::string_view elements) {
    return AddRaw(key,
                  GgufValueType::kArray,
                  LittleEndian(static_cast<uint32_t>(type)) + LittleEndian(num_elements) +
                      std::string(elements));
  }
  // `extents` innermost first, as in the file.
  GgufBytes& AddTensor(std::string_view name,
                       const std::vector<int64_t>& extents,
                       uint32_t type,
                       uint64_t offset) {
    table_ += GgufString(name) + LittleEndian(static_cast<uint32_t>(extents.size()));
    for (const int64_t extent : extents) {
      table_ += LittleEndian(extent);
    }
    table_ += LittleEndian(type) + LittleEndian(offset);
    ++num_tensors_;
    return *this;
  }
  GgufBytes& SetData(std::string data) {
    data_ = std::move(data);
    return *this;
  }

  std::string Make() const {
    std::string bytes = "GGUF" + LittleEndian(version) +
                        LittleEndian(num_tensors_ + extra_tensors) +
                        LittleEndian(num_pairs_ + extra_pairs) + pairs_ + table_;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes + data_;
  }

 private:
  int64_t num_pairs_ = 0;
  int64_t num_tensors_ = 0;
  std::string pairs_;
  std::string table_;
  std::string data_;
};

}  // namespace whinchat
