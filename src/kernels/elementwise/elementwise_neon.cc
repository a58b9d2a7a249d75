// SPDX-License-Identifier: Apache-2.0
// The elementwise functions over NEON vectors.
#include "kernels/elementwise/elementwise_isa.h"
#include "kernels/elementwise/elementwise_over_vec16.h"
#include "kernels/elementwise/vec16_neon.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseNeon() {
  return MakeElementwiseOver<Vec16Neon>();
}

}  // namespace whinchat::kernels
