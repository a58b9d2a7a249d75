// SPDX-License-Identifier: Apache-2.0
// The input of projections: int8 codes in groups of 32 where the weights are quantized, plain fp32
// where they are not. Never owns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel_table.h"
#include "model/scratch_arena.h"
#include "tensor/panel_matrix.h"

namespace whinchat {

struct ActivationRows {
  int k = 0;
  bool is_quantized = false;
  float* f32 = nullptr;     // [rows, k]         where not quantized
  int8_t* codes = nullptr;  // [rows, k]         where quantized, and the next two
  float* scales = nullptr;  // [rows, k / 32]
  int32_t* sums = nullptr;  // [rows, k / 32]

  static ActivationRows Take(int num_rows, int k, bool is_quantized, ScratchArena* arena) {
    const size_t count = static_cast<size_t>(num_rows) * static_cast<size_t>(k);
    ActivationRows rows;
    rows.k = k;
    rows.is_quantized = is_quantized;
    if (is_quantized) {
      rows.codes = arena->Take<int8_t>(count);
      rows.scales = arena->Take<float>(count / kGroupSize);
      rows.sums = arena->Take<int32_t>(count / kGroupSize);
    } else {
      rows.f32 = arena->Take<float>(count);
    }
    return rows;
  }

  // Quantizes `count` values into (row, column ...); count and column are multiples of 32.
  void Quantize(const kernels::ElementwiseKernels& elementwise,
                const float* values,
                int count,
                int row,
                int column) const {
    const size_t element =
        static_cast<size_t>(row) * static_cast<size_t>(k) + static_cast<size_t>(column);
    int32_t* const group_sums = sums + element / kGroupSize;
    elementwise.quantize_row(
        values,
        count,
        kGroupSize,
        {codes + element, scales + element / kGroupSize, group_sums, group_sums});
  }

  float* RowF32(int row) const { return f32 + static_cast<size_t>(row) * static_cast<size_t>(k); }
};

}  // namespace whinchat
