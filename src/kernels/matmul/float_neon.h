// SPDX-License-Identifier: Apache-2.0
// The body of the f32 and bf16 files of neon: 16 rows (4 registers) x 4 tokens, one fma after the
// other along k. The reference path: right first, fast second. `Load` gives 4 weights as fp32.
#pragma once

#include <arm_neon.h>

#include <cstddef>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kFloatTileTokens = 4;

template <typename Load, int kTokens>
void FloatTile(const MatmulArgs& args, const std::byte* panel, int token, float* dst) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const float* const lhs = args.lhs_f32 + static_cast<size_t>(token) * k;
  float32x4_t acc[kTokens][4];
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      acc[t][q] = vdupq_n_f32(0.0F);
    }
  }
  for (size_t i = 0; i < k; ++i) {
#pragma GCC unroll 4
    for (size_t q = 0; q < 4; ++q) {
      const float32x4_t weights = Load::Rows(panel + (i * kPanelRows + q * 4) * Load::kBytes);
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
        acc[t][q] = vfmaq_n_f32(acc[t][q], weights, lhs[static_cast<size_t>(t) * k + i]);
      }
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      vst1q_f32(dst + static_cast<size_t>(t) * args.dst_stride + q * 4, acc[t][q]);
    }
  }
}

template <typename Load>
void MatmulFloat(const MatmulArgs& args) {
  const size_t panel_bytes = MakePanelLayout(args.rhs.type, args.rhs.k).panel_bytes;
  for (int panel_idx = args.panel_begin; panel_idx < args.panel_end; ++panel_idx) {
    const std::byte* const panel = args.rhs.panels + panel_bytes * static_cast<size_t>(panel_idx);
    for (int t = 0; t < args.m; t += kFloatTileTokens) {
      float* const dst = args.dst + static_cast<size_t>(t) * args.dst_stride +
                         static_cast<size_t>(panel_idx) * kPanelRows;
      switch (args.m - t) {
        case 1:
          FloatTile<Load, 1>(args, panel, t, dst);
          break;
        case 2:
          FloatTile<Load, 2>(args, panel, t, dst);
          break;
        case 3:
          FloatTile<Load, 3>(args, panel, t, dst);
          break;
        default:
          FloatTile<Load, 4>(args, panel, t, dst);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace whinchat::kernels
