// SPDX-License-Identifier: Apache-2.0
// The elementwise functions over AVX2 vectors.
#include "kernels/elementwise/elementwise_isa.h"
#include "kernels/elementwise/elementwise_over_vec16.h"
#include "kernels/elementwise/vec16_avx2.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseAvx2() {
  return MakeElementwiseOver<Vec16Avx2>();
}

}  // namespace whinchat::kernels
