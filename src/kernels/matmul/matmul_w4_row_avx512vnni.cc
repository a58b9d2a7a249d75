// SPDX-License-Identifier: Apache-2.0
// w4 with a scale per row for AVX512 VNNI.
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/row_scaled_avx512vnni.h"

namespace whinchat::kernels {

void MatmulW4RowAvx512Vnni(const MatmulArgs& args) {
  MatmulRowScaled<4>(args);
}

}  // namespace whinchat::kernels
