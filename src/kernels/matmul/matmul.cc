// SPDX-License-Identifier: Apache-2.0
// Picks the matmul kernels of an ISA: its own files, and the next lower ISA's where it has none.
#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {

MatmulKernels MakeMatmulKernels(Isa) {
  return {.matmul_w8 = MatmulW8Scalar,
          .matmul_w4 = MatmulW4Scalar,
          .matmul_f32 = MatmulF32Scalar,
          .matmul_bf16 = MatmulBF16Scalar};
}

}  // namespace whinchat::kernels
