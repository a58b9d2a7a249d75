// SPDX-License-Identifier: Apache-2.0
// The structure of a GGUF file in memory: metadata and tensor views. No file is opened here, so
// that tests and fuzzing can give it any bytes. Nothing is copied but keys and small values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor_view.h"

namespace whinchat {

// Types of metadata values; the numbers stand in files.
enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Arrays with more elements, nested ones counted, are left out of the config.
inline constexpr uint64_t kMaxConfigArrayElements = 1024;

// An array among the metadata, checked to its end.
struct GgufArray {
  std::string_view key;
  GgufValueType element_type = GgufValueType::kUint8;
  uint64_t num_elements = 0;
  std::span<const std::byte> bytes;  // the elements as they stand in the file
};

struct GgufContents {
  nlohmann::json config;          // metadata, flat
  std::vector<GgufArray> arrays;  // every array among the metadata
  std::vector<TensorView> tensors;
};

// Views point into `bytes`. `file` is the name for messages.
// Throws Error{kCorruptFile or kUnsupported}.
GgufContents ParseGguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace whinchat
