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
    case Isa::kAvx2:
      return MakeAttentionAvx2();
    case Isa::kAvxVnni:
      return MakeAttentionAvxVnni();
    case Isa::kAvx512Vnni:
    case Isa::kAmx:
      return MakeAttentionAvx512Vnni();
#elif defined(__aarch64__)
    case Isa::kNeon:
      return MakeAttentionNeon();
    case Isa::kDotprod:
    case Isa::kI8mm:
      return MakeAttentionDotprod();
#endif
    default:
      return MakeAttentionScalar();
  }
}

}  // namespace whinchat::kernels
