// SPDX-License-Identifier: Apache-2.0
// w8 for AMX; with mins, AVX512 VNNI is as fast.
#include "kernels/matmul/quantized_amx.h"

namespace whinchat::kernels {

void MatmulW8Amx(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulW8Avx512Vnni(args);
  } else {
    MatmulQuantized<8>(args, MatmulW8Avx512Vnni);
  }
}

}  // namespace whinchat::kernels
