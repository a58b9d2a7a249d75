// SPDX-License-Identifier: Apache-2.0
// Rounds a group of 32 fp32 values to the codes of a quantized packed type: nearest code, scale
// from the group's extremes. Scales are rounded up to fp16, so that codes never leave their range.
#pragma once

#include <cstdint>

#include "kernels/pack/pack.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {

// value = (code - bias) * scale + min, codes with their bias as they stand in panels.
struct RoundedGroup {
  uint8_t* codes = nullptr;  // [32], written
  uint16_t scale = 0;        // fp16
  uint16_t min = 0;          // fp16, 0 for types without mins
};

// What a quantized type adds to signed codes: 128 (w8), 8 (w4), 0 (w4 with mins).
int CodeBias(PackedType type);

PackResult RoundGroup(PackedType type, const float* values, RoundedGroup& group);

}  // namespace whinchat::kernels
