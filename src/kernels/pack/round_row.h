// SPDX-License-Identifier: Apache-2.0
// Rounds a row of fp32 values to the codes of a packed type with row scales.
#pragma once

#include <cstdint>

#include "kernels/pack/pack.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {

// Codes with their bias as they stand in panels.
struct RoundedRow {
  uint8_t* codes = nullptr;       // [k], written
  uint8_t* sub_scales = nullptr;  // [k/32], written for w4: 1..15
  float scale = 0;
};

// w8: nearest codes with scale max|x| / 127. w4: row scale and sub-scales by a short search for the
// least squared error; good enough to test and to measure speed, not for quality at 4 bits, which
// needs calibration. k is a multiple of 32.
PackResult RoundRow(PackedType type, const float* values, int k, RoundedRow& row);

}  // namespace whinchat::kernels
