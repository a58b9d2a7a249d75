// SPDX-License-Identifier: Apache-2.0
// Picks the elementwise functions of an ISA.
#include "kernels/elementwise/elementwise.h"

#include "kernels/cpu_features.h"
#include "kernels/elementwise/elementwise_isa.h"

namespace whinchat::kernels {

// The cases of the other architecture can't come up: AvailableIsas does not list them.
ElementwiseKernels MakeElementwiseKernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvxVnni:
      return MakeElementwiseAvx2();
    case Isa::kAvx512Vnni:
    case Isa::kAmx:
      return MakeElementwiseAvx512Vnni();
#elif defined(__aarch64__)
    case Isa::kNeon:
    case Isa::kDotprod:
    case Isa::kI8mm:
      return MakeElementwiseNeon();
#endif
    default:
      return MakeElementwiseScalar();
  }
}

}  // namespace whinchat::kernels
