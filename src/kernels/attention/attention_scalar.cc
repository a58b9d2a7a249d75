// SPDX-License-Identifier: Apache-2.0
// Attention in plain C++, auto-vectorization off: the reference of every ISA.
#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention_isa.h"
#include "kernels/attention/attention_over_vec16.h"
#include "kernels/elementwise/vec16_scalar.h"

namespace whinchat::kernels {
namespace {

struct DotsScalar {
  static void ScoreSpan(int n, const ScoreSpanArgs& args) {
    for (int q = 0; q < n; ++q) {
      const int8_t* q_codes = args.q_codes + q * args.head_dim;
      for (int t = 0; t < args.num_blocks * kKvBlockTokens; ++t) {
        const uint8_t* k_codes = KCodes(args.heads[t / kKvBlockTokens]);
        int32_t dot = 0;
        for (int d = 0; d < args.head_dim; ++d) {
          const int lane = d / 4 * kKvBlockTokens + t % kKvBlockTokens;
          dot += q_codes[d] * (k_codes[lane * 4 + d % 4] - 128);
        }
        args.scores[q][t] = static_cast<float>(dot);
      }
    }
  }

  static void AddSpan(int n, const AddSpanArgs& args) {
    for (int b = 0; b < args.num_blocks; ++b) {
      const int8_t* v_codes = VCodes(args.heads[b], args.head_dim);
      for (int q = 0; q < n; ++q) {
        const uint8_t* p_codes = args.p_codes[q] + b * kKvBlockTokens;
        float* out = args.out + q * args.head_dim;
        for (int d = 0; d < args.head_dim; ++d) {
          int32_t dot = 0;
          for (int t = 0; t < kKvBlockTokens; ++t) {
            dot += p_codes[t] * v_codes[(t / 4 * args.head_dim + d) * 4 + t % 4];
          }
          out[d] = __builtin_fmaf(static_cast<float>(dot), args.p_scales[q][b], out[d]);
        }
      }
    }
  }
};

}  // namespace

AttentionKernels MakeAttentionScalar() {
  return MakeAttentionOver<Vec16Scalar, DotsScalar>();
}

}  // namespace whinchat::kernels
