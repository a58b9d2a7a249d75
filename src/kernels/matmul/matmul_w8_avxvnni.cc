// SPDX-License-Identifier: Apache-2.0
// w8 for AVX-VNNI, with and without mins.
#include "kernels/matmul/dot_avxvnni.h"
#include "kernels/matmul/quantized_avx2.h"

namespace whinchat::kernels {

void MatmulW8AvxVnni(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<128>, 8, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<128>, 8, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
