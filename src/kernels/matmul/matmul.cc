// SPDX-License-Identifier: Apache-2.0
// Picks the matmul kernels of an ISA: its own files, and the next lower ISA's where it has none.
#include "kernels/matmul/matmul.h"

#include "kernels/cpu_features.h"

namespace whinchat::kernels {

MatmulKernels MakeMatmulKernels([[maybe_unused]] Isa isa) {
  MatmulKernels kernels = {.matmul_w8 = MatmulW8Scalar,
                           .matmul_w4 = MatmulW4Scalar,
                           .matmul_w8_row = MatmulW8RowScalar,
                           .matmul_w4_row = MatmulW4RowScalar,
                           .matmul_f32 = MatmulF32Scalar,
                           .matmul_bf16 = MatmulBF16Scalar};
#if defined(__x86_64__)
  if (isa >= Isa::kAvx2) {
    kernels = {.matmul_w8 = MatmulW8Avx2,
               .matmul_w4 = MatmulW4Avx2,
               .matmul_w8_row = MatmulW8RowScalar,
               .matmul_w4_row = MatmulW4RowScalar,
               .matmul_f32 = MatmulF32Avx2,
               .matmul_bf16 = MatmulBF16Avx2};
  }
  if (isa >= Isa::kAvxVnni) {
    kernels.matmul_w8 = MatmulW8AvxVnni;
    kernels.matmul_w4 = MatmulW4AvxVnni;
  }
  if (isa >= Isa::kAvx512Vnni) {
    kernels = {.matmul_w8 = MatmulW8Avx512Vnni,
               .matmul_w4 = MatmulW4Avx512Vnni,
               .matmul_w8_row = MatmulW8RowAvx512Vnni,
               .matmul_w4_row = MatmulW4RowAvx512Vnni,
               .matmul_f32 = MatmulF32Avx512Vnni,
               .matmul_bf16 = MatmulBF16Avx512Vnni};
  }
  if (isa >= Isa::kAmx) {
    kernels.matmul_w8 = MatmulW8Amx;
    kernels.matmul_w4 = MatmulW4Amx;
  }
#elif defined(__aarch64__)
  if (isa >= Isa::kNeon) {
    kernels = {.matmul_w8 = MatmulW8Neon,
               .matmul_w4 = MatmulW4Neon,
               .matmul_w8_row = MatmulW8RowScalar,
               .matmul_w4_row = MatmulW4RowScalar,
               .matmul_f32 = MatmulF32Neon,
               .matmul_bf16 = MatmulBF16Neon};
  }
  if (isa >= Isa::kDotprod) {
    kernels.matmul_w8 = MatmulW8Dotprod;
    kernels.matmul_w4 = MatmulW4Dotprod;
  }
#endif
  return kernels;
}

}  // namespace whinchat::kernels
