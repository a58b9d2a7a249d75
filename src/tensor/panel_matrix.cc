// SPDX-License-Identifier: Apache-2.0
#include "tensor/panel_matrix.h"

#include "base/check.h"

namespace whinchat {
namespace {

size_t RoundUpToLine(size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

bool IsQuantized(PackedType type) {
  return type != PackedType::kF32 && type != PackedType::kBF16;
}

bool HasMins(PackedType type) {
  return type == PackedType::kW8G32Min || type == PackedType::kW4G32Min;
}

bool HasRowScales(PackedType type) {
  return type == PackedType::kW8 || type == PackedType::kW4;
}

bool HasSubScales(PackedType type) {
  return type == PackedType::kW4;
}

int CodeBits(PackedType type) {
  switch (type) {
    case PackedType::kF32:
      return 32;
    case PackedType::kBF16:
      return 16;
    case PackedType::kW8G32:
    case PackedType::kW8G32Min:
    case PackedType::kW8:
      return 8;
    case PackedType::kW4G32:
    case PackedType::kW4G32Min:
    case PackedType::kW4:
      return 4;
  }
  return 0;
}

std::string_view PackedTypeName(PackedType type) {
  switch (type) {
    case PackedType::kF32:
      return "f32";
    case PackedType::kBF16:
      return "bf16";
    case PackedType::kW8G32:
      return "w8_g32";
    case PackedType::kW8G32Min:
      return "w8_g32_min";
    case PackedType::kW4G32:
      return "w4_g32";
    case PackedType::kW4G32Min:
      return "w4_g32_min";
    case PackedType::kW8:
      return "w8";
    case PackedType::kW4:
      return "w4";
  }
  return "unknown";
}

PanelLayout MakePanelLayout(PackedType type, int k) {
  PanelLayout layout;
  const size_t num_values = static_cast<size_t>(k) * kPanelRows;
  WHINCHAT_CHECK(!IsQuantized(type) || k % kGroupSize == 0);
  if (HasRowScales(type)) {
    WHINCHAT_CHECK(k <= kMaxRowScaledColumns);
    const size_t num_groups = static_cast<size_t>(k / kGroupSize);
    layout.sub_scales_offset = RoundUpToLine(kPanelRows * sizeof(float));
    layout.codes_offset = layout.sub_scales_offset;
    if (HasSubScales(type)) {
      layout.codes_offset += RoundUpToLine((num_groups + 1) / 2 * kPanelRows);
    }
    layout.mins_offset = layout.codes_offset;
  } else if (IsQuantized(type)) {
    const size_t group_bytes =
        RoundUpToLine(static_cast<size_t>(k / kGroupSize) * kPanelRows * sizeof(uint16_t));
    layout.mins_offset = group_bytes;
    layout.codes_offset = HasMins(type) ? 2 * group_bytes : group_bytes;
    layout.sub_scales_offset = layout.codes_offset;
  }
  layout.panel_bytes =
      RoundUpToLine(layout.codes_offset + num_values * static_cast<size_t>(CodeBits(type)) / 8);
  return layout;
}

size_t PanelMatrix::TotalBytes() const {
  return MakePanelLayout(type, k).panel_bytes * static_cast<size_t>(num_panels());
}

}  // namespace whinchat
