// SPDX-License-Identifier: Apache-2.0
// Picks the attention functions of an ISA.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_isa.h"
#include "kernels/cpu_features.h"

namespace whinchat::kernels {

AttentionKernels MakeAttentionKernels([[maybe_unused]] Isa isa) {
  return MakeAttentionScalar();
}

}  // namespace whinchat::kernels
