// SPDX-License-Identifier: Apache-2.0
#include "tensor/panel_matrix.h"

#include <gtest/gtest.h>

#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

constexpr PackedType kTypes[] = {PackedType::kF32,
                                 PackedType::kBF16,
                                 PackedType::kW8G32,
                                 PackedType::kW8G32Min,
                                 PackedType::kW4G32,
                                 PackedType::kW4G32Min,
                                 PackedType::kW8,
                                 PackedType::kW4};

TEST(PanelLayout, StartsEveryPartOnALine) {
  for (const PackedType type : kTypes) {
    for (int k = 32; k <= 4096; k += 32) {
      const PanelLayout layout = MakePanelLayout(type, k);
      EXPECT_EQ(layout.mins_offset % kLineBytes, 0u);
      EXPECT_EQ(layout.codes_offset % kLineBytes, 0u);
      EXPECT_EQ(layout.panel_bytes % kLineBytes, 0u);
      const size_t group_bytes = static_cast<size_t>(k / kGroupSize) * kPanelRows * 2;
      EXPECT_EQ(layout.sub_scales_offset % kLineBytes, 0u);
      if (HasRowScales(type)) {
        EXPECT_EQ(layout.sub_scales_offset, kPanelRows * sizeof(float));
        const size_t pair_bytes = static_cast<size_t>(k / kGroupSize + 1) / 2 * kPanelRows;
        EXPECT_GE(layout.codes_offset,
                  layout.sub_scales_offset + (HasSubScales(type) ? pair_bytes : 0));
      } else if (IsQuantized(type)) {
        EXPECT_GE(layout.mins_offset, group_bytes);
        EXPECT_EQ(layout.codes_offset, layout.mins_offset * (HasMins(type) ? 2 : 1));
      }
      const size_t code_bytes =
          static_cast<size_t>(k) * kPanelRows * static_cast<size_t>(CodeBits(type)) / 8;
      EXPECT_GE(layout.panel_bytes, layout.codes_offset + code_bytes);
      EXPECT_LT(layout.panel_bytes, layout.codes_offset + code_bytes + kLineBytes);
    }
  }
}

TEST(PanelLayout, HasTheKnownBytesOfQwenShapes) {
  EXPECT_EQ(MakePanelLayout(PackedType::kW8G32, 1024).panel_bytes, 1024u + 16384u);
  EXPECT_EQ(MakePanelLayout(PackedType::kW4G32, 1024).panel_bytes, 1024u + 8192u);
  EXPECT_EQ(MakePanelLayout(PackedType::kW4G32Min, 576).panel_bytes, 2 * 576u + 4608u);
  EXPECT_EQ(MakePanelLayout(PackedType::kW8, 1024).panel_bytes, 64u + 16384u);
  EXPECT_EQ(MakePanelLayout(PackedType::kW4, 1024).panel_bytes, 64u + 256u + 8192u);
  EXPECT_EQ(MakePanelLayout(PackedType::kW4, 96).panel_bytes, 64u + 64u + 768u);
  EXPECT_EQ(MakePanelLayout(PackedType::kBF16, 1024).panel_bytes, 32768u);
  EXPECT_EQ(MakePanelLayout(PackedType::kF32, 5).panel_bytes, 320u);
}

TEST(PanelMatrix, CountsItsLastPanelWhole) {
  const PanelMatrix matrix = {PackedType::kW8G32, 17, 1024, nullptr};
  EXPECT_EQ(matrix.num_panels(), 2);
  EXPECT_EQ(matrix.TotalBytes(), 2 * (1024u + 16384u));
}

TEST(PackedTypes, HaveDistinctNames) {
  EXPECT_EQ(PackedTypeName(PackedType::kW8G32), "w8_g32");
  EXPECT_EQ(PackedTypeName(PackedType::kW4), "w4");
  for (const PackedType a : kTypes) {
    for (const PackedType b : kTypes) {
      EXPECT_EQ(PackedTypeName(a) == PackedTypeName(b), a == b);
    }
  }
}

TEST(DTypes, StoreWholeBlocks) {
  EXPECT_EQ(StorageBytes(DType::kQ4_K, 512), 288u);
  EXPECT_EQ(StorageBytes(DType::kBF16, 3), 6u);
  EXPECT_EQ(DTypeName(DType::kIQ4_XS), "IQ4_XS");
}

TEST(TensorView, TellsItsShape) {
  const TensorView tensor = {"w", DType::kF32, {1024, 3072}, {}};
  EXPECT_EQ(tensor.ShapeText(), "[1024, 3072]");
  EXPECT_EQ(tensor.NumElements(), 1024 * 3072);
  EXPECT_EQ(TensorView{}.NumElements(), 1);
}

}  // namespace
}  // namespace whinchat
