// SPDX-License-Identifier: Apache-2.0
// The per-ISA builders behind MakeAttentionKernels. Private to kernels/attention. A builder exists
// only on its architecture; calling one is safe anywhere, calling what it returns needs the ISA.
#pragma once

#include "kernels/attention/attention.h"

namespace whinchat::kernels {

AttentionKernels MakeAttentionScalar();
AttentionKernels MakeAttentionAvx2();
AttentionKernels MakeAttentionAvxVnni();
AttentionKernels MakeAttentionAvx512Vnni();
AttentionKernels MakeAttentionNeon();
AttentionKernels MakeAttentionDotprod();

}  // namespace whinchat::kernels
