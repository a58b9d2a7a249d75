// SPDX-License-Identifier: Apache-2.0
// w4 for AVX-VNNI, with and without mins.
#include "kernels/matmul/dot_avxvnni.h"
#include "kernels/matmul/quantized_avx2.h"

namespace whinchat::kernels {

void MatmulW4AvxVnni(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<0>, 4, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<8>, 4, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
