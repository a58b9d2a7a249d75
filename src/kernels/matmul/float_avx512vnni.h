// SPDX-License-Identifier: Apache-2.0
// The body of the f32 and bf16 files of avx512vnni: 16 rows (a zmm) x 8 tokens, one fma after the
// other along k. The reference path: right first, fast second. `Load` gives 16 weights as fp32.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/matmul/matmul.h"

namespace whinchat::kernels {
namespace {

constexpr int kFloatTileTokens = 8;

template <typename Load, int kTokens>
void FloatTile(const MatmulArgs& args, const std::byte* panel, int token, float* dst) {
  const auto k = static_cast<size_t>(args.rhs.k);
  const float* const lhs = args.lhs_f32 + static_cast<size_t>(token) * k;
  __m512 acc[kTokens];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    acc[t] = _mm512_setzero_ps();
  }
  for (size_t i = 0; i < k; ++i) {
    const __m512 weights = Load::Rows(panel + i * kPanelRows * Load::kBytes);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const __m512 activation = _mm512_set1_ps(lhs[static_cast<size_t>(t) * k + i]);
      acc[t] = _mm512_fmadd_ps(activation, weights, acc[t]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    _mm512_storeu_ps(dst + static_cast<size_t>(t) * args.dst_stride, acc[t]);
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
        case 4:
          FloatTile<Load, 4>(args, panel, t, dst);
          break;
        case 5:
          FloatTile<Load, 5>(args, panel, t, dst);
          break;
        case 6:
          FloatTile<Load, 6>(args, panel, t, dst);
          break;
        case 7:
          FloatTile<Load, 7>(args, panel, t, dst);
          break;
        default:
          FloatTile<Load, 8>(args, panel, t, dst);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace whinchat::kernels
