// SPDX-License-Identifier: Apache-2.0
// Attention in plain C++, auto-vectorization off: the reference of every ISA.
#include <cstdint>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_scalar.h"

namespace whinchat::kernels {
namespace {

struct DotsScalar {
  static void ScoreBlock(int n, const ScoreBlockArgs& args) {
    for (int q = 0; q < n; ++q) {
      const int8_t* codes = args.q_codes + q * args.head_dim;
      for (int t = 0; t < kKvBlockTokens; ++t) {
        int32_t dot = 0;
        for (int d = 0; d < args.head_dim; ++d) {
          const uint8_t k_code = args.k_codes[(d / 4 * kKvBlockTokens + t) * 4 + d % 4];
          dot += codes[d] * (k_code - 128);
        }
        args.dots[q * kAttentionSpanTokens + t] = dot;
      }
    }
  }

  static void AddBlock(int n, const AddBlockArgs& args) {
    for (int q = 0; q < n; ++q) {
      const uint8_t* codes = args.p_codes + q * kAttentionSpanTokens;
      float* out = args.out + q * args.head_dim;
      for (int d = 0; d < args.head_dim; ++d) {
        int32_t dot = 0;
        for (int t = 0; t < kKvBlockTokens; ++t) {
          dot += codes[t] * args.v_codes[(t / 4 * args.head_dim + d) * 4 + t % 4];
        }
        out[d] = __builtin_fmaf(static_cast<float>(dot), args.p_scales[q], out[d]);
      }
    }
  }
};

}  // namespace

AttentionKernels MakeAttentionScalar() {
  return MakeAttentionOver<Vec16Scalar, DotsScalar>();
}

}  // namespace whinchat::kernels
