// SPDX-License-Identifier: Apache-2.0
// The elementwise functions over AVX-512 vectors.
#include "kernels/elementwise/elementwise_isa.h"
#include "kernels/elementwise/elementwise_over_vec16.h"
#include "kernels/elementwise/vec16_avx512vnni.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseAvx512Vnni() {
  return MakeElementwiseOver<Vec16Avx512Vnni>();
}

}  // namespace whinchat::kernels
