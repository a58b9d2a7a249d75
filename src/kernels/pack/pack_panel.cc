// SPDX-License-Identifier: Apache-2.0
// Makes one panel (of types with row scales: pack_row_scaled.cc): up to 16 rows, 256 values of each
// at a time, so that the lines being written stay in the first-level cache. A row's piece becomes
// stored codes, scales and mins (copied from the file's blocks, or rounded), which are then spread
// over the panel's lines.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"
#include "kernels/pack/block_codes.h"
#include "kernels/pack/pack.h"
#include "kernels/pack/pack_row_scaled.h"
#include "kernels/pack/round_group.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"
#include "tensor/panel_matrix.h"

namespace whinchat::kernels {
namespace {

constexpr int kPieceElements = kMaxBlockElements;
constexpr int kPieceGroups = kPieceElements / kGroupSize;
constexpr uint16_t kFloat16Exponent = 0x7c00;
constexpr uint16_t kBFloat16Exponent = 0x7f80;

// Up to 256 values of one row as they will stand in the panel: biased codes, one in a byte.
struct RowPiece {
  std::array<uint8_t, kPieceElements> codes;
  std::array<uint16_t, kPieceGroups> scales;
  std::array<uint16_t, kPieceGroups> mins;
};

// Whether a file's codes go into panels of `type` as they are.
bool IsCopied(PackedType type, const BlockFormat* format, DType dtype) {
  return format != nullptr && format->group_elements == kGroupSize && type == PackedTypeFor(dtype);
}

PackResult StoreFloat16(float value, uint16_t& half) {
  half = FloatToFloat16(value);
  if ((half & kFloat16Exponent) != kFloat16Exponent) {
    return PackResult::kOk;
  }
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  return magnitude >= 0x7f800000u ? PackResult::kNotFinite : PackResult::kTooLarge;
}

PackResult CopyPiece(PackedType type,
                     DType dtype,
                     const BlockFormat& format,
                     const uint8_t* source,
                     int count,
                     RowPiece& piece) {
  const auto block_elements = static_cast<size_t>(BlockElements(dtype));
  const int bias = CodeBias(type);
  BlockCodes block;
  for (int begin = 0; begin < count; begin += BlockElements(dtype), source += BlockBytes(dtype)) {
    format.decode(source, block);
    const auto first = static_cast<size_t>(begin);
    for (size_t i = 0; i < block_elements; ++i) {
      piece.codes[first + i] = static_cast<uint8_t>(block.codes[i] + bias);
    }
    for (size_t from = 0; from < block_elements / kGroupSize; ++from) {
      const size_t to = first / kGroupSize + from;
      PackResult result = StoreFloat16(block.scales[from], piece.scales[to]);
      if (result == PackResult::kOk && format.has_mins) {
        result = StoreFloat16(block.mins[from], piece.mins[to]);
      }
      if (result != PackResult::kOk) {
        return result;
      }
    }
  }
  return PackResult::kOk;
}

PackResult RoundPiece(
    PackedType type, DType dtype, const uint8_t* source, int count, RowPiece& piece) {
  alignas(kLineBytes) std::array<float, kPieceElements> values;
  DequantizeRow(dtype, reinterpret_cast<SourceRow>(source), count, values.data());
  for (int begin = 0; begin < count; begin += kGroupSize) {
    RoundedGroup group;
    group.codes = piece.codes.data() + begin;
    const PackResult result = RoundGroup(type, values.data() + begin, group);
    if (result != PackResult::kOk) {
      return result;
    }
    piece.scales[static_cast<size_t>(begin / kGroupSize)] = group.scale;
    piece.mins[static_cast<size_t>(begin / kGroupSize)] = group.min;
  }
  return PackResult::kOk;
}

// Lines of 16 rows x 4 bytes; `codes` is the line of the piece's first value, at the row's place.
void StoreCodes8(const RowPiece& piece, int count, std::byte* codes) {
  for (int i = 0; i < count; i += 4, codes += kLineBytes) {
    std::memcpy(codes, piece.codes.data() + i, 4);
  }
}

void StoreCodes4(const RowPiece& piece, int count, std::byte* codes) {
  for (int i = 0; i < count; i += 8, codes += kLineBytes) {
    uint32_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, piece.codes.data() + i, 4);
    std::memcpy(&high, piece.codes.data() + i + 4, 4);
    const uint32_t packed = low | (high << 4);  // no nibble carries into its neighbour
    std::memcpy(codes, &packed, 4);
  }
}

void StoreGroupValues(const std::array<uint16_t, kPieceGroups>& values,
                      int num_groups,
                      std::byte* out) {
  for (int group = 0; group < num_groups; ++group, out += kPanelRows * sizeof(uint16_t)) {
    std::memcpy(out, &values[static_cast<size_t>(group)], sizeof(uint16_t));
  }
}

// One row's place in a panel.
struct PanelRow {
  PackedType type;
  PanelLayout layout;
  std::byte* panel;
  size_t row;
};

void StorePiece(const PanelRow& to, const RowPiece& piece, int begin, int count) {
  const auto first_group = static_cast<size_t>(begin / kGroupSize);
  const size_t group_offset = (first_group * kPanelRows + to.row) * sizeof(uint16_t);
  const int num_groups = count / kGroupSize;
  StoreGroupValues(piece.scales, num_groups, to.panel + group_offset);
  if (HasMins(to.type)) {
    StoreGroupValues(piece.mins, num_groups, to.panel + to.layout.mins_offset + group_offset);
  }
  const bool is_8_bit = CodeBits(to.type) == 8;
  const auto line = static_cast<size_t>(begin / (is_8_bit ? 4 : 8));
  std::byte* codes = to.panel + to.layout.codes_offset + line * kLineBytes + to.row * 4;
  if (is_8_bit) {
    StoreCodes8(piece, count, codes);
  } else {
    StoreCodes4(piece, count, codes);
  }
}

PackResult PackQuantizedPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel) {
  const PanelLayout layout = MakePanelLayout(type, k);
  const BlockFormat* format = FindBlockFormat(dtype);
  const bool is_copied = IsCopied(type, format, dtype);
  std::memset(panel, 0, layout.panel_bytes);
  RowPiece piece;
  for (int begin = 0; begin < k; begin += kPieceElements) {
    const int count = std::min(kPieceElements, k - begin);
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto* source = reinterpret_cast<const uint8_t*>(rows[row] + StorageBytes(dtype, begin));
      const PackResult result = is_copied ? CopyPiece(type, dtype, *format, source, count, piece)
                                          : RoundPiece(type, dtype, source, count, piece);
      if (result != PackResult::kOk) {
        return result;
      }
      StorePiece({type, layout, panel, row}, piece, begin, count);
    }
  }
  return PackResult::kOk;
}

bool AreFinite(const float* values, int count) {
  int32_t greatest = 0;
  for (int i = 0; i < count; ++i) {
    greatest = std::max(greatest, std::bit_cast<int32_t>(values[i]) & 0x7fffffff);
  }
  return greatest < 0x7f800000;
}

// Values of one row, 16 values of other rows apart.
void StoreFloats(const float* values, int count, std::byte* out) {
  for (int i = 0; i < count; ++i, out += kPanelRows * sizeof(float)) {
    std::memcpy(out, values + i, sizeof(float));
  }
}

PackResult StoreBFloats(const float* values, int count, std::byte* out) {
  for (int i = 0; i < count; ++i, out += kPanelRows * sizeof(uint16_t)) {
    const uint16_t bfloat = FloatToBFloat16(values[i]);
    if ((bfloat & kBFloat16Exponent) == kBFloat16Exponent) {
      return PackResult::kTooLarge;
    }
    std::memcpy(out, &bfloat, sizeof(bfloat));
  }
  return PackResult::kOk;
}

PackResult PackFloatPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel) {
  std::memset(panel, 0, MakePanelLayout(type, k).panel_bytes);
  const size_t value_bytes = type == PackedType::kF32 ? sizeof(float) : sizeof(uint16_t);
  alignas(kLineBytes) std::array<float, kPieceElements> values;
  PackResult result = PackResult::kOk;
  for (int begin = 0; begin < k; begin += kPieceElements) {
    const int count = std::min(kPieceElements, k - begin);
    for (size_t row = 0; row < rows.size() && result == PackResult::kOk; ++row) {
      DequantizeRow(dtype, rows[row] + StorageBytes(dtype, begin), count, values.data());
      std::byte* out = panel + (static_cast<size_t>(begin) * kPanelRows + row) * value_bytes;
      if (!AreFinite(values.data(), count)) {
        result = PackResult::kNotFinite;
      } else if (type == PackedType::kF32) {
        StoreFloats(values.data(), count, out);
      } else {
        result = StoreBFloats(values.data(), count, out);
      }
    }
  }
  return result;
}

}  // namespace

PackedType PackedTypeFor(DType dtype) {
  switch (dtype) {
    case DType::kI8:
    case DType::kI32:
    case DType::kI64:
      return PackedType::kF32;
    case DType::kQ4_0:
      return PackedType::kW4G32;
    case DType::kQ4_1:
    case DType::kQ4_K:
      return PackedType::kW4G32Min;
    case DType::kQ5_1:
    case DType::kQ5_K:
      return PackedType::kW8G32Min;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ5_0:
    case DType::kQ8_0:
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ6_K:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return PackedType::kW8G32;
  }
  return PackedType::kW8G32;
}

std::string_view PackFaultText(PackResult result) {
  switch (result) {
    case PackResult::kOk:
      return "";
    case PackResult::kNotFinite:
      return "holds NaN or infinity";
    case PackResult::kTooLarge:
      return "holds values too large for the scales of its packed type";
  }
  return "";
}

PackResult PackPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel) {
  WHINCHAT_CHECK(!rows.empty() && rows.size() <= static_cast<size_t>(kPanelRows));
  WHINCHAT_CHECK(k > 0 && k % BlockElements(dtype) == 0);
  if (HasRowScales(type)) {
    return PackRowScaledPanel(type, dtype, rows, k, panel);
  }
  return IsQuantized(type) ? PackQuantizedPanel(type, dtype, rows, k, panel)
                           : PackFloatPanel(type, dtype, rows, k, panel);
}

}  // namespace whinchat::kernels
