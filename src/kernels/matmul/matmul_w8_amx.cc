// SPDX-License-Identifier: Apache-2.0
// w8 for AMX, with and without mins.
#include "kernels/matmul/quantized_amx.h"

namespace whinchat::kernels {

void MatmulW8Amx(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<8, /*kHasMins=*/true>(args, MatmulW8Avx512Vnni);
  } else {
    MatmulQuantized<8, /*kHasMins=*/false>(args, MatmulW8Avx512Vnni);
  }
}

}  // namespace whinchat::kernels
