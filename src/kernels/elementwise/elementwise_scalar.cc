// SPDX-License-Identifier: Apache-2.0
// The elementwise functions in plain C++, auto-vectorization off: the reference of every ISA.
#include "kernels/elementwise/elementwise_isa.h"
#include "kernels/elementwise/elementwise_over_vec16.h"
#include "kernels/elementwise/vec16_scalar.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseScalar() {
  return MakeElementwiseOver<Vec16Scalar>();
}

float ExpScalar(float x) {
  return Exp(Vec16Scalar::Broadcast(x)).lane[0];
}

}  // namespace whinchat::kernels
