// SPDX-License-Identifier: Apache-2.0
// fp32 weights for NEON.
#include "kernels/matmul/float_neon.h"

namespace whinchat::kernels {
namespace {

struct Load {
  static constexpr size_t kBytes = 4;  // of one weight

  static float32x4_t Rows(const std::byte* weights) {
    return vld1q_f32(reinterpret_cast<const float*>(weights));
  }
};

}  // namespace

void MatmulF32Neon(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
