// SPDX-License-Identifier: Apache-2.0
// The reference for w4 (with and without mins): the definition in matmul.h, one row at a time.
#include <cmath>

#include "kernels/matmul/half.h"
#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

// Low nibbles hold k+0..3 of each 8, high nibbles k+4..7.
int32_t DotGroup(const int8_t* lhs, const uint8_t* codes, int row, int bias) {
  int32_t sum = 0;
  for (int i = 0; i < kGroupSize; ++i) {
    const int packed = codes[(i / 8 * kPanelRows + row) * 4 + i % 4];
    const int code = i % 8 < 4 ? packed & 15 : packed >> 4;
    sum += lhs[i] * (code - bias);
  }
  return sum;
}

}  // namespace

void MatmulW4Scalar(const MatmulArgs& args) {
  const int k = args.rhs.k;
  const int num_groups = k / kGroupSize;
  const bool has_mins = HasMins(args.rhs.type);
  const int bias = has_mins ? 0 : 8;
  const PanelLayout layout = MakePanelLayout(args.rhs.type, k);
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    const std::byte* const panel =
        args.rhs.panels + layout.panel_bytes * static_cast<size_t>(panel_idx);
    const auto* const scales = reinterpret_cast<const uint16_t*>(panel);
    const auto* const mins = reinterpret_cast<const uint16_t*>(panel + layout.mins_offset);
    const auto* const codes = reinterpret_cast<const uint8_t*>(panel + layout.codes_offset);
    for (int t = 0; t < args.m; ++t) {
      const int8_t* const lhs = args.lhs.codes + static_cast<size_t>(t) * static_cast<size_t>(k);
      const size_t lhs_group = static_cast<size_t>(t) * static_cast<size_t>(num_groups);
      float* const dst = args.dst + static_cast<size_t>(t) * args.dst_stride +
                         static_cast<size_t>(panel_idx) * kPanelRows;
      for (int r = 0; r < kPanelRows; ++r) {
        float acc = 0.0F;
        for (int g = 0; g < num_groups; ++g) {
          const float lhs_scale = args.lhs.scales[lhs_group + static_cast<size_t>(g)];
          const int group_row = g * kPanelRows + r;
          const int32_t isum =
              DotGroup(lhs + g * kGroupSize, codes + g * kGroupSize * kPanelRows / 2, r, bias);
          acc = std::fma(static_cast<float>(isum), HalfToFloat(scales[group_row]) * lhs_scale, acc);
          if (has_mins) {
            const int32_t lhs_sum = args.lhs.sums[lhs_group + static_cast<size_t>(g)];
            acc = std::fma(
                HalfToFloat(mins[group_row]), static_cast<float>(lhs_sum) * lhs_scale, acc);
          }
        }
        dst[r] = acc;
      }
    }
  }
}

}  // namespace whinchat::kernels
