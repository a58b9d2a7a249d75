// SPDX-License-Identifier: Apache-2.0
// w4 for ARM's SDOT, with and without mins.
#include "kernels/matmul/dot_dotprod.h"

namespace whinchat::kernels {

void MatmulW4Dotprod(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<4, 0>, 4, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<4, 8>, 4, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
