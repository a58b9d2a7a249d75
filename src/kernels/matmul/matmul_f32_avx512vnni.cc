// SPDX-License-Identifier: Apache-2.0
// fp32 weights for AVX512.
#include "kernels/matmul/float_avx512vnni.h"

namespace whinchat::kernels {
namespace {

struct Load {
  static constexpr size_t kBytes = 4;  // of one weight

  static __m512 Rows(const std::byte* weights) { return _mm512_load_ps(weights); }
};

}  // namespace

void MatmulF32Avx512Vnni(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
