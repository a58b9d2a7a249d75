// SPDX-License-Identifier: Apache-2.0
// Picks the elementwise functions of an ISA.
#include "kernels/elementwise/elementwise.h"

#include "kernels/cpu_features.h"
#include "kernels/elementwise/elementwise_isa.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseKernels([[maybe_unused]] Isa isa) {
  return MakeElementwiseScalar();
}

}  // namespace whinchat::kernels
