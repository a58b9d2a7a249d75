// SPDX-License-Identifier: Apache-2.0
// The body of the f32 and bf16 files of avx2: 16 rows (2 ymm) x 4 tokens, one fma after the other
// along k. The reference path: right first, fast second. `Load` gives 8 weights as fp32.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kFloatTileTokens = 4;

template <typename Load, int kTokens>
void FloatTile(const MatmulArgs& args, const std::byte* panel, int token, float* dst) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const float* const lhs = args.lhs_f32 + static_cast<size_t>(token) * k;
  __m256 acc[kTokens][2];
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
    acc[t][0] = _mm256_setzero_ps();
    acc[t][1] = _mm256_setzero_ps();
  }
  for (size_t i = 0; i < k; ++i) {
    const std::byte* const rows = panel + i * kPanelRows * Load::kBytes;
    const __m256 low = Load::Rows(rows);
    const __m256 high = Load::Rows(rows + 8 * Load::kBytes);
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      const __m256 activation = _mm256_broadcast_ss(lhs + static_cast<size_t>(t) * k + i);
      acc[t][0] = _mm256_fmadd_ps(activation, low, acc[t][0]);
      acc[t][1] = _mm256_fmadd_ps(activation, high, acc[t][1]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
    _mm256_storeu_ps(dst + static_cast<size_t>(t) * args.dst_stride, acc[t][0]);
    _mm256_storeu_ps(dst + static_cast<size_t>(t) * args.dst_stride + 8, acc[t][1]);
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
