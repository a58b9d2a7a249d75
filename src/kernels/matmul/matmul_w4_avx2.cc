// SPDX-License-Identifier: Apache-2.0
// w4 for AVX2. A pair of u4 x s8 products is at most 2 x 15 x 127 = 3,810, so the 8 steps of a
// group (30,480) add up in 16 bits without saturation and widen once.
#include "kernels/matmul/quantized_avx2.h"

namespace whinchat::kernels {
namespace {

template <int kBiasValue>
struct Dot {
  static constexpr int kBias = kBiasValue;
  using Weights = __m256i;

  static Weights Prepare(__m256i codes) { return codes; }

  static void Add(__m256i& sum, Weights weights, __m256i activations) {
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, activations));
  }

  static __m256i Finish(__m256i sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }
};

}  // namespace

void MatmulW4Avx2(const MatmulArgs& args) {
  if (HasMins(args.rhs.type)) {
    MatmulQuantized<Dot<0>, 4, /*kHasMins=*/true>(args);
  } else {
    MatmulQuantized<Dot<8>, 4, /*kHasMins=*/false>(args);
  }
}

}  // namespace whinchat::kernels
