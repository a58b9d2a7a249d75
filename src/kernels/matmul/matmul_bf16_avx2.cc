// SPDX-License-Identifier: Apache-2.0
// bf16 weights for AVX2.
#include "kernels/matmul/float_avx2.h"

namespace whinchat::kernels {
namespace {

struct Load {
  static constexpr size_t kBytes = 2;  // of one weight

  static __m256 Rows(const std::byte* weights) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(weights))), 16));
  }
};

}  // namespace

void MatmulBF16Avx2(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
