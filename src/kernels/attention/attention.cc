// SPDX-License-Identifier: Apache-2.0
// Picks the attention kernels of an ISA.
#include "kernels/attention/attention.h"

namespace whinchat::kernels {

AttentionKernels MakeAttentionKernels(Isa) {
  return {};
}

}  // namespace whinchat::kernels
