// SPDX-License-Identifier: Apache-2.0
// dst = lhs * rhs^T: lhs are activations [m tokens, k], rhs a weight matrix [n, k] in panels of 16
// rows (tensor/panel_matrix.h), dst fp32 [m, n].
//
// The result is defined, not scheduled, so that every ISA, tile and thread count gives the same
// bits. For each token t and row r, over the groups g of 32 in order, starting from acc = 0:
//   isum = sum over the group of code_t * (code_r - bias)          exact in int32; bias is 128
//   (w8),
//                                                                  8 (w4), 0 (w4 with mins)
//   acc  = fma(float(isum), scale_r,g * scale_t,g, acc)            one rounding for the product
//   acc  = fma(min_r,g, float(sum of code_t) * scale_t,g, acc)     types with mins only
// Types with row scales (w8, w4), over the blocks b of the activations in order:
//   isum = sum over the block of code_t * (code_r - bias) * sub-scale   exact in int32; the
//                                                    sub-scale is 1 (w8) or the group's (w4)
//   acc  = fma(float(isum), scale_t,b, acc)
// and acc * scale_r at the end.
// Float types: acc = fma(lhs_t,k, rhs_r,k, acc) for k in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_features.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {

// Activations as int8 in blocks with a scale each, made by quantize_row. Rows are contiguous; a row
// has ceil(k / block) scales.
struct QuantizedRows {
  const int8_t* codes = nullptr;        // [m, k], in [-127, 127]
  const float* scales = nullptr;        // [m, ceil(k/block)]
  const int32_t* sums = nullptr;        // [m, k/32] sum of the codes of each group of 32
  const int32_t* block_sums = nullptr;  // [m, ceil(k/block)] the same of each block; read for
                                        // weights with row scales only
  int block = kGroupSize;               // a multiple of 32; 32 for weights with scales per group
};

struct MatmulArgs {
  QuantizedRows lhs;               // for quantized rhs
  const float* lhs_f32 = nullptr;  // [m, k], for kF32 and kBF16
  int m = 0;
  PanelMatrix rhs;
  int panel_begin = 0;  // the panels this call computes: [panel_begin, panel_end)
  int panel_end = 0;
  float* dst = nullptr;   // [m, dst_stride]; element (t, r) of the whole matrix is
  size_t dst_stride = 0;  // dst[t * dst_stride + r]. At least n rounded up to 16: the last
                          // panel is written whole
};

using MatmulFn = void (*)(const MatmulArgs& args);

struct MatmulKernels {
  MatmulFn matmul_w8 = nullptr;      // kW8G32, kW8G32Min
  MatmulFn matmul_w4 = nullptr;      // kW4G32, kW4G32Min
  MatmulFn matmul_w8_row = nullptr;  // kW8
  MatmulFn matmul_w4_row = nullptr;  // kW4
  MatmulFn matmul_f32 = nullptr;     // kF32
  MatmulFn matmul_bf16 = nullptr;    // kBF16
};

// The kernels of one ISA; what an ISA lacks is the next lower one's.
MatmulKernels MakeMatmulKernels(Isa isa);

// Matmul<rhs><Isa> stands in matmul_<rhs>_<isa>.cc. The scalar ones are the reference.
void MatmulW8Scalar(const MatmulArgs& args);
void MatmulW4Scalar(const MatmulArgs& args);
void MatmulW8RowScalar(const MatmulArgs& args);
void MatmulW4RowScalar(const MatmulArgs& args);
void MatmulF32Scalar(const MatmulArgs& args);
void MatmulBF16Scalar(const MatmulArgs& args);

void MatmulW8Avx2(const MatmulArgs& args);
void MatmulW4Avx2(const MatmulArgs& args);
void MatmulF32Avx2(const MatmulArgs& args);
void MatmulBF16Avx2(const MatmulArgs& args);

void MatmulW8AvxVnni(const MatmulArgs& args);
void MatmulW4AvxVnni(const MatmulArgs& args);

void MatmulW8Avx512Vnni(const MatmulArgs& args);
void MatmulW4Avx512Vnni(const MatmulArgs& args);
void MatmulW8RowAvx512Vnni(const MatmulArgs& args);
void MatmulW4RowAvx512Vnni(const MatmulArgs& args);
void MatmulF32Avx512Vnni(const MatmulArgs& args);
void MatmulBF16Avx512Vnni(const MatmulArgs& args);

void MatmulW8Amx(const MatmulArgs& args);
void MatmulW4Amx(const MatmulArgs& args);

void MatmulW8Neon(const MatmulArgs& args);
void MatmulW4Neon(const MatmulArgs& args);
void MatmulF32Neon(const MatmulArgs& args);
void MatmulBF16Neon(const MatmulArgs& args);

void MatmulW8Dotprod(const MatmulArgs& args);
void MatmulW4Dotprod(const MatmulArgs& args);

}  // namespace whinchat::kernels
