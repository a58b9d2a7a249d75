// SPDX-License-Identifier: Apache-2.0
// w8 for ARM's SDOT, with and without mins.
#include "kernels/matmul/dot_dotprod.h"

namespace whinchat::kernels {

void MatmulW8Dotprod(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<8, 0>, 8, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<8, 0>, 8, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
