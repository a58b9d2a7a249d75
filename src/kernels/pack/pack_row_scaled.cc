// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack/pack_row_scaled.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/pack/round_row.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {
namespace {

// One row's place in a panel.
struct PanelRow {
  PanelLayout layout;
  std::byte* panel;
  size_t row;
};

void StoreCodes8(const uint8_t* codes, int k, const PanelRow& to) {
  std::byte* out = to.panel + to.layout.codes_offset + to.row * 4;
  for (int i = 0; i < k; i += 4, out += kLineBytes) {
    std::memcpy(out, codes + i, 4);
  }
}

void StoreCodes4(const uint8_t* codes, int k, const PanelRow& to) {
  std::byte* out = to.panel + to.layout.codes_offset + to.row * 4;
  for (int i = 0; i < k; i += 8, out += kLineBytes) {
    for (int j = 0; j < 4; ++j) {
      out[j] = static_cast<std::byte>(codes[i + j] | (codes[i + 4 + j] << 4));
    }
  }
}

void StoreSubScales(const uint8_t* sub_scales, int num_groups, const PanelRow& to) {
  std::byte* out = to.panel + to.layout.sub_scales_offset + to.row;
  for (int group = 0; group < num_groups; group += 2, out += kPanelRows) {
    const int odd = group + 1 < num_groups ? sub_scales[group + 1] : 0;
    *out = static_cast<std::byte>(sub_scales[group] | (odd << 4));
  }
}

}  // namespace

PackResult PackRowScaledPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel) {
  const PanelLayout layout = MakePanelLayout(type, k);
  std::memset(panel, 0, layout.panel_bytes);
  std::vector<float> values(static_cast<size_t>(k));
  std::vector<uint8_t> codes(static_cast<size_t>(k));
  std::vector<uint8_t> sub_scales(static_cast<size_t>(k / kGroupSize));
  RoundedRow rounded = {codes.data(), sub_scales.data(), 0};
  for (size_t row = 0; row < rows.size(); ++row) {
    DequantizeRow(dtype, rows[row], k, values.data());
    const PackResult result = RoundRow(type, values.data(), k, rounded);
    if (result != PackResult::kOk) {
      return result;
    }
    const PanelRow to = {layout, panel, row};
    std::memcpy(panel + row * sizeof(float), &rounded.scale, sizeof(float));
    if (CodeBits(type) == 8) {
      StoreCodes8(codes.data(), k, to);
    } else {
      StoreSubScales(sub_scales.data(), k / kGroupSize, to);
      StoreCodes4(codes.data(), k, to);
    }
  }
  return PackResult::kOk;
}

}  // namespace whinchat::kernels
