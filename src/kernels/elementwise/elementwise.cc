// SPDX-License-Identifier: Apache-2.0
// Picks the elementwise kernels of an ISA.
#include "kernels/elementwise/elementwise.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseKernels(Isa) {
  return {};
}

}  // namespace whinchat::kernels
