// SPDX-License-Identifier: Apache-2.0
// The dot product of AVX-VNNI: u8 codes, s8 activations, 32-bit sums; the bias comes off at the
// end. In asm since g++ 12 copies and spills accumulators around the intrinsic; {vex} asks for
// the encoding that processors without AVX512 have.
#pragma once

#include <immintrin.h>

namespace whinchat::kernels {
namespace {

template <int kBiasValue>
struct Dot {
  static constexpr int kBias = kBiasValue;
  using Weights = __m256i;

  static Weights Prepare(__m256i codes) { return codes; }

  static void Add(__m256i& sum, Weights weights, __m256i activations) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(weights), "x"(activations));
  }

  static __m256i Finish(__m256i sum) { return sum; }
};

}  // namespace
}  // namespace whinchat::kernels
