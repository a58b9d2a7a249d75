// SPDX-License-Identifier: Apache-2.0
// One row of a packed matrix as fp32: the value definition of tensor/panel_matrix.h, literally.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack.h"
#include "tensor/float16.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {
namespace {

template <typename Stored>
Stored Load(const std::byte* bytes) {
  Stored stored;
  std::memcpy(&stored, bytes, sizeof(stored));
  return stored;
}

// One group of 32 codes of a row, less their bias.
void LoadCodes(PackedType type, const std::byte* codes, float* values) {
  if (CodeBits(type) == 8) {
    for (int i = 0; i < kGroupSize; ++i) {
      const auto line = static_cast<size_t>(i / 4) * kLineBytes;
      values[i] =
          static_cast<float>(static_cast<int>(codes[line + static_cast<size_t>(i % 4)]) - 128);
    }
    return;
  }
  const int bias = HasMins(type) ? 0 : 8;
  for (int i = 0; i < kGroupSize; ++i) {
    const auto line = static_cast<size_t>(i / 8) * kLineBytes;
    const int pair = static_cast<int>(codes[line + static_cast<size_t>(i % 4)]);
    const int code = i % 8 < 4 ? pair & 0x0f : pair >> 4;
    values[i] = static_cast<float>(code - bias);
  }
}

// (code - bias) * sub-scale * row scale, the first product in whole numbers.
void UnpackRowScaledRow(const PanelMatrix& matrix,
                        const std::byte* panel,
                        size_t row,
                        float* values) {
  const PanelLayout layout = MakePanelLayout(matrix.type, matrix.k);
  const size_t group_code_bytes = kLineBytes * kGroupSize / (CodeBits(matrix.type) == 8 ? 4 : 8);
  const float row_scale = Load<float>(panel + row * sizeof(float));
  for (int group = 0; group < matrix.k / kGroupSize; ++group, values += kGroupSize) {
    const auto group_idx = static_cast<size_t>(group);
    LoadCodes(
        matrix.type, panel + layout.codes_offset + group_idx * group_code_bytes + row * 4, values);
    int sub_scale = 1;
    if (HasSubScales(matrix.type)) {
      const auto pair =
          static_cast<int>(panel[layout.sub_scales_offset + group_idx / 2 * kPanelRows + row]);
      sub_scale = group % 2 == 0 ? pair & 0x0f : pair >> 4;
    }
    for (int i = 0; i < kGroupSize; ++i) {
      values[i] = values[i] * static_cast<float>(sub_scale) * row_scale;
    }
  }
}

void UnpackQuantizedRow(const PanelMatrix& matrix,
                        const std::byte* panel,
                        size_t row,
                        float* values) {
  const PanelLayout layout = MakePanelLayout(matrix.type, matrix.k);
  const size_t group_code_bytes = kLineBytes * kGroupSize / (CodeBits(matrix.type) == 8 ? 4 : 8);
  for (int group = 0; group < matrix.k / kGroupSize; ++group, values += kGroupSize) {
    const auto group_idx = static_cast<size_t>(group);
    const size_t scale_offset = (group_idx * kPanelRows + row) * sizeof(uint16_t);
    const float scale = Float16ToFloat(Load<uint16_t>(panel + scale_offset));
    LoadCodes(
        matrix.type, panel + layout.codes_offset + group_idx * group_code_bytes + row * 4, values);
    for (int i = 0; i < kGroupSize; ++i) {
      values[i] *= scale;
    }
    if (HasMins(matrix.type)) {
      const float min = Float16ToFloat(Load<uint16_t>(panel + layout.mins_offset + scale_offset));
      for (int i = 0; i < kGroupSize; ++i) {
        values[i] += min;
      }
    }
  }
}

}  // namespace

void UnpackRow(const PanelMatrix& matrix, int row_idx, float* values) {
  WHINCHAT_CHECK(row_idx >= 0 && row_idx < matrix.n);
  const auto panel_idx = static_cast<size_t>(row_idx / kPanelRows);
  const auto row = static_cast<size_t>(row_idx % kPanelRows);
  const std::byte* panel =
      matrix.panels + panel_idx * MakePanelLayout(matrix.type, matrix.k).panel_bytes;
  if (HasRowScales(matrix.type)) {
    UnpackRowScaledRow(matrix, panel, row, values);
    return;
  }
  if (IsQuantized(matrix.type)) {
    UnpackQuantizedRow(matrix, panel, row, values);
    return;
  }
  for (int i = 0; i < matrix.k; ++i) {
    const size_t value_idx = static_cast<size_t>(i) * kPanelRows + row;
    values[i] = matrix.type == PackedType::kF32
                    ? Load<float>(panel + value_idx * sizeof(float))
                    : BFloat16ToFloat(Load<uint16_t>(panel + value_idx * sizeof(uint16_t)));
  }
}

}  // namespace whinchat::kernels
