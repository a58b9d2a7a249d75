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

int CodeBits(PackedType type) {
  switch (type) {
    case PackedType::kF32:
      return 32;
    case PackedType::kBF16:
      return 16;
    case PackedType::kW8G32:
    case PackedType::kW8G32Min:
      return 8;
    case PackedType::kW4G32:
    case PackedType::kW4G32Min:
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
  }
  return "unknown";
}

PanelLayout MakePanelLayout(PackedType type, int k) {
  PanelLayout layout;
  const size_t num_values = static_cast<size_t>(k) * kPanelRows;
  if (IsQuantized(type)) {
    WHINCHAT_CHECK(k % kGroupSize == 0);
    const size_t group_bytes =
        RoundUpToLine(static_cast<size_t>(k / kGroupSize) * kPanelRows * sizeof(uint16_t));
    layout.mins_offset = group_bytes;
    layout.codes_offset = HasMins(type) ? 2 * group_bytes : group_bytes;
  }
  layout.panel_bytes =
      RoundUpToLine(layout.codes_offset + num_values * static_cast<size_t>(CodeBits(type)) / 8);
  return layout;
}

size_t PanelMatrix::TotalBytes() const {
  return MakePanelLayout(type, k).panel_bytes * static_cast<size_t>(num_panels());
}

}  // namespace whinchat
