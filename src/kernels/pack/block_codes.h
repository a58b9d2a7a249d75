// SPDX-License-Identifier: Apache-2.0
// GGUF's quantized blocks, taken apart: every one of them is integer codes with one scale (and for
// some one offset) for each 16 or 32 values. Both dequantization and packing start from this form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace whinchat::kernels {

inline constexpr int kMaxBlockElements = 256;

// value_i = codes_i * scale + min of i's group. `mins` is set only where BlockFormat::has_mins.
struct BlockCodes {
  std::array<int8_t, kMaxBlockElements> codes;
  std::array<float, kMaxBlockElements / 16> scales;
  std::array<float, kMaxBlockElements / 16> mins;
};

struct BlockFormat {
  int group_elements = 0;  // values that share a scale: 16 or 32
  bool has_mins = false;
  void (*decode)(const uint8_t* block, BlockCodes& decoded) = nullptr;
};

// The format of a quantized dtype; null for plain types (F32, I8, ...).
const BlockFormat* FindBlockFormat(DType dtype);

}  // namespace whinchat::kernels
