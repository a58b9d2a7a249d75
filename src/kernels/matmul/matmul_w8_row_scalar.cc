// SPDX-License-Identifier: Apache-2.0
// The reference for w8 with a scale per row: the definition in matmul.h, one row at a time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {
namespace {

constexpr int kBias = 128;

// Codes of one row of a panel in [begin, end) with the activations there.
int32_t DotBlock(const int8_t* lhs, const uint8_t* codes, int row, int begin, int end) {
  int32_t sum = 0;
  for (int i = begin; i < end; ++i) {
    sum += lhs[i] * (codes[(i / 4 * kPanelRows + row) * 4 + i % 4] - kBias);
  }
  return sum;
}

}  // namespace

void MatmulW8RowScalar(const MatmulArgs& args) {
  const int k = args.rhs.k;
  const int block = args.lhs.block;
  const int num_blocks = (k + block - 1) / block;
  const PanelLayout layout = MakePanelLayout(args.rhs.type, k);
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    const std::byte* const panel =
        args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx);
    const auto* const row_scales = reinterpret_cast<const float*>(panel);
    const auto* const codes = reinterpret_cast<const uint8_t*>(panel + layout.codes_offset);
    for (int t = 0; t < args.m; ++t) {
      const int8_t* const lhs = args.lhs.codes + static_cast<size_t>(t) * static_cast<size_t>(k);
      const float* const lhs_scales =
          args.lhs.scales + static_cast<size_t>(t) * static_cast<size_t>(num_blocks);
      float* const dst = args.dst + static_cast<size_t>(t) * args.dst_stride +
                         static_cast<size_t>(panel_idx) * kPanelRows;
      for (int r = 0; r < kPanelRows; ++r) {
        float acc = 0.0F;
        for (int b = 0; b < num_blocks; ++b) {
          const int begin = b * block;
          const int end = std::min(begin + block, k);
          const int32_t isum = DotBlock(lhs, codes, r, begin, end);
          acc = std::fma(static_cast<float>(isum), lhs_scales[b], acc);
        }
        dst[r] = acc * row_scales[r];
      }
    }
  }
}

}  // namespace whinchat::kernels
