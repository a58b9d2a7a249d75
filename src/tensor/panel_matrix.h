// SPDX-License-Identifier: Apache-2.0
// The one layout of weights that every kernel reads, in memory and in the packed file: panels of
// 16 output rows, made of 64-byte lines in the order the kernels touch them.
//
// A quantized panel (group = 32 values along k, G = k/32 groups):
//
//   scales  [G][16] fp16                      padded to a whole line
//   mins    [G][16] fp16   (types *Min only)  padded to a whole line
//   codes   w8: [k/4][16 rows][4 k] uint8     value = (code - 128) * scale [+ min]
//           w4: [k/8][16 rows][4 k] uint8     low nibble = k+0..3, high nibble = k+4..7 of the 8;
//                                             value = (code - 8) * scale, or code * scale + min
//
// A panel of w8 or w4, Whinchat's own types, whose integers add up over as many values as one scale
// of the activations covers:
//
//   row scales  [16] fp32
//   sub-scales  w4 only: [G/2][16] uint8, in the low nibble the sub-scale (1..15) of the even
//   group,
//               in the high nibble that of the odd one (0 where there is none); padded to a line
//   codes       as above; w8: value = (code - 128) * row scale, codes 1..255
//                         w4: value = (code - 8) * sub-scale * row scale, the first product being
//                             exact in int8 (-120 to 105)
//
// With mins, w8 codes keep their bias: value = (code - 128) * scale + min.
// A float panel is [k][16 rows] of fp32 or bf16. Rows past `n` in the last panel are zero
// (quantized: scales and mins zero). k is a multiple of 32 for quantized types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace whinchat {

enum class PackedType : uint32_t {  // the numbers stand in packed files
  kF32 = 0,
  kBF16 = 1,
  kW8G32 = 2,
  kW8G32Min = 3,
  kW4G32 = 4,
  kW4G32Min = 5,
  kW8 = 6,
  kW4 = 7,
};

inline constexpr int kPanelRows = 16;
inline constexpr int kGroupSize = 32;
inline constexpr size_t kLineBytes = 64;

bool IsQuantized(PackedType type);
bool HasMins(PackedType type);
// kW8 and kW4: one fp32 scale per row. k is at most kMaxRowScaledColumns, so that sums over a whole
// row of codes times activations, 255 * 127 * k, fit int32.
inline constexpr int kMaxRowScaledColumns = 65536;
bool HasRowScales(PackedType type);
// kW4: integer sub-scales per row and group of 32.
bool HasSubScales(PackedType type);
// Bits of one code: 4, 8, 16 or 32.
int CodeBits(PackedType type);
// "w4", "w8", "w4_g32", "w8_g32_min", "f32": names in files, flags and tables.
std::string_view PackedTypeName(PackedType type);

// Where the parts of one panel start, in bytes from the panel's start. All are multiples of 64.
struct PanelLayout {
  size_t mins_offset = 0;        // equals codes_offset where there are no mins
  size_t sub_scales_offset = 0;  // equals codes_offset where there are no sub-scales
  size_t codes_offset = 0;
  size_t panel_bytes = 0;
};
PanelLayout MakePanelLayout(PackedType type, int k);

// A weight matrix [n outputs, k inputs] in panels. Never owns; `panels` is 64-byte aligned.
struct PanelMatrix {
  PackedType type = PackedType::kF32;
  int n = 0;
  int k = 0;
  const std::byte* panels = nullptr;

  int num_panels() const { return (n + kPanelRows - 1) / kPanelRows; }
  size_t TotalBytes() const;
};

}  // namespace whinchat
