// SPDX-License-Identifier: Apache-2.0
// w4 for AMX; with mins, AVX512 VNNI is as fast.
#include "kernels/matmul/quantized_amx.h"

namespace whinchat::kernels {

void MatmulW4Amx(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulW4Avx512Vnni(args);
  } else {
    MatmulQuantized<4>(args, MatmulW4Avx512Vnni);
  }
}

}  // namespace whinchat::kernels
