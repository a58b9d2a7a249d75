// SPDX-License-Identifier: Apache-2.0
// w4 for AMX, with and without mins.
#include "kernels/matmul/quantized_amx.h"

namespace whinchat::kernels {

void MatmulW4Amx(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<4, /*kHasMins=*/true>(args, MatmulW4Avx512Vnni);
  } else {
    MatmulQuantized<4, /*kHasMins=*/false>(args, MatmulW4Avx512Vnni);
  }
}

}  // namespace whinchat::kernels
