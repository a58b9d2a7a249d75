// SPDX-License-Identifier: Apache-2.0
// w8 for AVX512 VNNI, with and without mins.
#include "kernels/matmul/quantized_avx512vnni.h"

namespace whinchat::kernels {

void MatmulW8Avx512Vnni(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<8, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<8, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
