// SPDX-License-Identifier: Apache-2.0
// bf16 weights for NEON.
#include "kernels/matmul/float_neon.h"

namespace whinchat::kernels {
namespace {

struct Load {
  static constexpr size_t kBytes = 2;  // of one weight

  static float32x4_t Rows(const std::byte* weights) {
    return vreinterpretq_f32_u32(
        vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(weights)), 16));
  }
};

}  // namespace

void MatmulBF16Neon(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
