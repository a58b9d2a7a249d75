// SPDX-License-Identifier: Apache-2.0
// bf16 weights for AVX512.
#include "kernels/matmul/float_avx512vnni.h"

namespace whinchat::kernels {
namespace {

// The forms with a mask, since g++ 12 warns of an uninitialized operand inside those without.
constexpr __mmask16 kAllLanes = 0xFFFF;

struct Load {
  static constexpr size_t kBytes = 2;  // of one weight

  static __m512 Rows(const std::byte* weights) {
    const __m512i words = _mm512_maskz_cvtepu16_epi32(
        kAllLanes, _mm256_load_si256(reinterpret_cast<const __m256i*>(weights)));
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAllLanes, words, 16));
  }
};

}  // namespace

void MatmulBF16Avx512Vnni(const MatmulArgs& args) {
  MatmulFloat<Load>(args);
}

}  // namespace whinchat::kernels
