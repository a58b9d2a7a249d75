// SPDX-License-Identifier: Apache-2.0
// Picks the attention functions of an ISA.
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_isa.h"
#include "kernels/cpu_features.h"

namespace whinchat::kernels {

// The cases of the other architecture can't come up: AvailableIsas does not list them.
AttentionKernels MakeAttentionKernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx512Vnni:
    case Isa::kAmx:
      return MakeAttentionAvx512Vnni();
#endif
    default:
      return MakeAttentionScalar();
  }
}

}  // namespace whinchat::kernels
