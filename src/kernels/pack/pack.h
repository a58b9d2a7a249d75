// SPDX-License-Identifier: Apache-2.0
// Turns rows of values or of GGUF blocks into panels (tensor/panel_matrix.h). Not hot: runs once
// when a model is packed. One call makes one panel, so callers share panels among threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {

// The faithful packed type of a file's dtype: Q4_0 -> w4, Q4_1 -> w4 with mins, Q5_0 and Q5_1 ->
// w8 (with mins), Q8_0 -> w8, Q4_K -> w4 with mins (scales rounded to fp16), Q5_K -> w8 with mins,
// Q2_K, Q3_K, Q6_K, IQ4_* and the floats -> w8 rounded per group of 32.
PackedType PackedTypeFor(DType dtype);

// One row of a source tensor: its first byte in file layout, k values of `dtype`.
using SourceRow = const std::byte*;

// Writes one panel of `type` for up to 16 source rows (fewer in the last panel: the rest is zero).
// Codes are copied exactly where the type is faithful; otherwise rows are dequantized and rounded.
// `panel` has MakePanelLayout(type, k).panel_bytes bytes.
void PackPanel(PackedType type, DType dtype, std::span<const SourceRow> rows, int k,
               std::byte* panel);

// The inverse, for embeddings and tests: row `row_idx` of `matrix` as fp32 [k].
void UnpackRow(const PanelMatrix& matrix, int row_idx, float* values);

// k values of a file's row as fp32. Block formats follow GGUF's definition.
void DequantizeRow(DType dtype, SourceRow row, int k, float* values);

}  // namespace whinchat::kernels
