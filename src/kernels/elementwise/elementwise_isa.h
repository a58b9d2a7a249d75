// SPDX-License-Identifier: Apache-2.0
// The per-ISA builders behind MakeElementwiseKernels. Private to kernels/elementwise. A builder
// exists only on its architecture; calling one is safe anywhere, calling what it returns needs the
// ISA.
#pragma once

#include "kernels/elementwise/elementwise.h"

namespace whinchat::kernels {

ElementwiseKernels MakeElementwiseScalar();
ElementwiseKernels MakeElementwiseAvx2();
ElementwiseKernels MakeElementwiseAvx512Vnni();
ElementwiseKernels MakeElementwiseNeon();

}  // namespace whinchat::kernels
