// SPDX-License-Identifier: Apache-2.0
// The reference for bf16 weights: one fma after the other along k.
#include <cmath>

#include "kernels/matmul/half.h"
#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {

void MatmulBF16Scalar(const MatmulArgs& args) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const size_t panel_bytes = MakePanelLayout(args.rhs.type, args.rhs.k).panel_bytes;
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    const auto* const panel = reinterpret_cast<const uint16_t*>(
        args.rhs.panels + panel_bytes * static_cast<size_t>(panel_idx));
    for (int t = 0; t < args.m; ++t) {
      const float* const lhs = args.lhs_f32 + static_cast<size_t>(t) * k;
      float* const dst = args.dst + static_cast<size_t>(t) * args.dst_stride +
                         static_cast<size_t>(panel_idx) * kPanelRows;
      for (size_t r = 0; r < kPanelRows; ++r) {
        float acc = 0.0F;
        for (size_t i = 0; i < k; ++i) {
          acc = std::fma(lhs[i], BF16ToFloat(panel[i * kPanelRows + r]), acc);
        }
        dst[r] = acc;
      }
    }
  }
}

}  // namespace whinchat::kernels
