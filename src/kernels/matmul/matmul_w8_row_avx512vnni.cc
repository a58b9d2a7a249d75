// SPDX-License-Identifier: Apache-2.0
// w8 with a scale per row for AVX512 VNNI.
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/row_scaled_avx512vnni.h"

namespace whinchat::kernels {

void MatmulW8RowAvx512Vnni(const MatmulArgs& args) {
  MatmulRowScaled<8>(args);
}

}  // namespace whinchat::kernels
