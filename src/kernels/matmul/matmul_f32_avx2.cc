// SPDX-License-Identifier: Apache-2.0
// fp32 weights for AVX2.
#include "kernels/matmul/float_avx2.h"

namespace whinchat::kernels {
namespace {

struct Load {
  static constexpr size_t kBytes = 4;  // of one weight

  static __m256 Rows(const std::byte* weights) {
    return _mm256_load_ps(reinterpret_cast<const float*>(weights));
  }
};

}  // namespace

void MatmulF32Avx2(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
