// SPDX-License-Identifier: Apache-2.0
// w4 for AVX512 VNNI, with and without mins.
#include "kernels/matmul/quantized_avx512vnni.h"

namespace whinchat::kernels {

void MatmulW4Avx512Vnni(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<4, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<4, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
