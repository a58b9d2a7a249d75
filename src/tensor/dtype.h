// SPDX-License-Identifier: Apache-2.0
// Element types of tensors as they stand in files (safetensors and GGUF names).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace whinchat {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kI8,
  kI32,
  kI64,
  // GGUF block types (ggml's names).
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
};

// Elements in one indivisible block: 1 for plain types, 32 or 256 for GGUF's quantized ones.
int BlockElements(DType dtype);

// Bytes of one block.
size_t BlockBytes(DType dtype);

// Bytes of `num_elements` elements. Precondition: a multiple of BlockElements(dtype).
size_t StorageBytes(DType dtype, int64_t num_elements);

// For messages: "F32", "Q4_K".
std::string_view DTypeName(DType dtype);

}  // namespace whinchat
