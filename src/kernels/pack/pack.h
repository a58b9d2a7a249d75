// SPDX-License-Identifier: Apache-2.0
// Turns rows of values or of GGUF blocks into panels (tensor/panel_matrix.h). Not hot: runs once
// when a model is packed. One call makes one panel, so callers share panels among threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {

// The faithful packed type of a file's dtype: Q4_0 -> w4, Q4_1 -> w4 with mins, Q5_0 -> w8,
// Q5_1 -> w8 with mins, Q8_0 and IQ4_NL -> w8: exact. Q4_K -> w4 with mins, Q5_K -> w8 with mins,
// IQ4_XS -> w8: exact codes, scales and mins rounded to fp16. Q2_K, Q3_K, Q6_K and the floats ->
// w8 rounded per group of 32. Integer tensors -> f32.
PackedType PackedTypeFor(DType dtype);

// One row of a source tensor: its first byte in file layout, k values of `dtype`. At any address.
using SourceRow = const std::byte*;

enum class PackResult {
  kOk,
  kNotFinite,  // the rows hold NaN or infinity
  kTooLarge,   // a value is beyond what the type's scales (or bf16) can hold
};

// What is wrong with a tensor, to follow its name: "holds NaN or infinity". Empty for kOk.
std::string_view PackFaultText(PackResult result);

// Writes one panel of `type` for up to 16 source rows (fewer in the last panel: the rest is zero).
// Codes are copied exactly where the type is faithful; otherwise rows are dequantized and rounded,
// with an error of at most half a scale (w4 without mins: up to one scale opposite the extreme, as
// its codes are -8 to 7; w4 with row scales: more where a search found that clipping pays). The
// types with row scales are always rounded, rows at a time, and allocate. `panel` has
// MakePanelLayout(type, k).panel_bytes bytes, all of which are written; its contents are of no use
// unless the result is kOk. Preconditions: 1 to 16 rows, k a multiple of BlockElements(dtype), and
// of 32 if `type` is quantized, at most kMaxRowScaledColumns if it has row scales.
[[nodiscard]] PackResult PackPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel);

// The inverse, for embeddings and tests: row `row_idx` of `matrix` as fp32 [k].
void UnpackRow(const PanelMatrix& matrix, int row_idx, float* values);

// k values of a file's row as fp32, the bits of GGUF's reference implementation.
// Precondition: k is a multiple of BlockElements(dtype).
void DequantizeRow(DType dtype, SourceRow row, int k, float* values);

}  // namespace whinchat::kernels
