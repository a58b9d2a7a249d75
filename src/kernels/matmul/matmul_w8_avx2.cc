// SPDX-License-Identifier: Apache-2.0
// w8 for AVX2. vpmaddubsw adds two u8 x s8 products in saturating 16 bits, and 2 x 255 x 127 would
// saturate. So the bias is taken off first: |code - 128| <= 128 as u8 against the activation with
// the code's sign gives at most 2 x 128 x 127 = 32,512, which is exact.
#include "kernels/matmul/quantized_avx2.h"

namespace whinchat::kernels {
namespace {

struct Dot {
  static constexpr int kBias = 0;

  struct Weights {
    __m256i signed_codes;
    __m256i magnitudes;
  };

  static Weights Prepare(__m256i codes) {
    const __m256i signed_codes = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
    return {signed_codes, _mm256_abs_epi8(signed_codes)};
  }

  static void Add(__m256i& sum, const Weights& weights, __m256i activations) {
    const __m256i pairs = _mm256_maddubs_epi16(weights.magnitudes,
                                               _mm256_sign_epi8(activations, weights.signed_codes));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }

  static __m256i Finish(__m256i sum) { return sum; }
};

}  // namespace

void MatmulW8Avx2(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot, 8, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot, 8, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
