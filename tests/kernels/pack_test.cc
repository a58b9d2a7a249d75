// SPDX-License-Identifier: Apache-2.0
// Dequantization against the Python gguf package's own results, bit for bit; panels against the
// definition of tensor/panel_matrix.h: exact for faithful types, bounded errors for the others.
#include "kernels/pack/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/float16.h"

namespace whinchat::kernels {
namespace {

constexpr std::array<DType, 12> kBlockTypes = {DType::kQ4_0,
                                               DType::kQ4_1,
                                               DType::kQ5_0,
                                               DType::kQ5_1,
                                               DType::kQ8_0,
                                               DType::kQ2_K,
                                               DType::kQ3_K,
                                               DType::kQ4_K,
                                               DType::kQ5_K,
                                               DType::kQ6_K,
                                               DType::kIQ4_NL,
                                               DType::kIQ4_XS};

struct GoldenBlocks {
  int num_values = 0;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

GoldenBlocks ReadGolden(DType dtype) {
  std::string name(DTypeName(dtype));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream file(WHINCHAT_TEST_DATA_DIR "/golden/gguf/" + name + ".bin", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  GoldenBlocks golden;
  uint32_t num_values = 0;
  if (bytes.size() < sizeof(num_values)) {
    ADD_FAILURE() << "no golden file for " << name;
    return golden;
  }
  std::memcpy(&num_values, bytes.data(), sizeof(num_values));
  golden.num_values = static_cast<int>(num_values);
  golden.blocks.resize(StorageBytes(dtype, golden.num_values));
  golden.values.resize(num_values);
  if (bytes.size() != sizeof(num_values) + golden.blocks.size() + num_values * sizeof(float)) {
    ADD_FAILURE() << "golden file of " << name << " has a wrong size";
    return golden;
  }
  std::memcpy(golden.blocks.data(), bytes.data() + sizeof(num_values), golden.blocks.size());
  std::memcpy(golden.values.data(),
              bytes.data() + sizeof(num_values) + golden.blocks.size(),
              num_values * sizeof(float));
  return golden;
}

std::string TypeName(const testing::TestParamInfo<DType>& param) {
  return std::string(DTypeName(param.param));
}

class BlockTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, BlockTypes, testing::ValuesIn(kBlockTypes), TypeName);

TEST_P(BlockTypes, DequantizeToTheBitsOfTheReference) {
  const GoldenBlocks golden = ReadGolden(GetParam());
  ASSERT_GE(golden.num_values, 2048);
  std::vector<float> values(golden.values.size());
  DequantizeRow(GetParam(), golden.blocks.data(), golden.num_values, values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(golden.values[i]))
        << "value " << i << ": " << values[i] << " instead of " << golden.values[i];
  }
}

constexpr std::array<PackedType, 8> kPackedTypes = {PackedType::kF32,
                                                    PackedType::kBF16,
                                                    PackedType::kW8G32,
                                                    PackedType::kW8G32Min,
                                                    PackedType::kW4G32,
                                                    PackedType::kW4G32Min,
                                                    PackedType::kW8,
                                                    PackedType::kW4};

// A matrix whose panels stand between guard bytes, to see writes outside.
class PackedMatrix {
 public:
  PackedMatrix(PackedType type, int n, int k)
      : matrix_{type, n, k, nullptr}, buffer_(matrix_.TotalBytes() + 2 * kGuardBytes, kGuard) {
    matrix_.panels = buffer_.data() + kGuardBytes;
  }

  const PanelMatrix& matrix() const { return matrix_; }

  // Rows stand one after the other in `source`.
  PackResult Pack(DType dtype, const std::byte* source) {
    const size_t row_bytes = StorageBytes(dtype, matrix_.k);
    const size_t panel_bytes = MakePanelLayout(matrix_.type, matrix_.k).panel_bytes;
    for (int panel = 0; panel < matrix_.num_panels(); ++panel) {
      std::vector<SourceRow> rows;
      for (int row = panel * kPanelRows; row < std::min(matrix_.n, (panel + 1) * kPanelRows);
           ++row) {
        rows.push_back(source + static_cast<size_t>(row) * row_bytes);
      }
      const PackResult result =
          PackPanel(matrix_.type,
                    dtype,
                    rows,
                    matrix_.k,
                    buffer_.data() + kGuardBytes + static_cast<size_t>(panel) * panel_bytes);
      if (result != PackResult::kOk) {
        return result;
      }
    }
    return PackResult::kOk;
  }

  std::vector<float> Row(int row_idx) const {
    std::vector<float> values(static_cast<size_t>(matrix_.k));
    UnpackRow(matrix_, row_idx, values.data());
    return values;
  }

  bool AreGuardsWhole() const {
    const auto is_guard = [](std::byte byte) { return byte == kGuard; };
    return std::all_of(buffer_.begin(), buffer_.begin() + kGuardBytes, is_guard) &&
           std::all_of(buffer_.end() - kGuardBytes, buffer_.end(), is_guard);
  }

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr std::byte kGuard{0xa5};
  PanelMatrix matrix_;
  std::vector<std::byte> buffer_;
};

std::vector<float> NormalValues(size_t count, float deviation) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(generator);
  }
  return values;
}

const std::byte* BytesOf(const std::vector<float>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

PackResult PackOneRow(PackedType type, const std::vector<float>& values, std::vector<float>* out) {
  PackedMatrix packed(type, 1, static_cast<int>(values.size()));
  const PackResult result = packed.Pack(DType::kF32, BytesOf(values));
  if (result == PackResult::kOk) {
    *out = packed.Row(0);
  }
  EXPECT_TRUE(packed.AreGuardsWhole());
  return result;
}

// The golden blocks as a matrix: 8 rows of 256 (more for types with real blocks too).
class FaithfulTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All,
                         FaithfulTypes,
                         testing::Values(DType::kQ4_0,
                                         DType::kQ4_1,
                                         DType::kQ5_0,
                                         DType::kQ5_1,
                                         DType::kQ8_0,
                                         DType::kIQ4_NL),
                         TypeName);

TEST_P(FaithfulTypes, SurvivePackingBitForBit) {
  const GoldenBlocks golden = ReadGolden(GetParam());
  // k = 96 has rows that end inside a piece of 256; n ends inside a panel.
  for (const int k : {32, 96, 512}) {
    const int n = golden.num_values / k;
    PackedMatrix packed(PackedTypeFor(GetParam()), n, k);
    ASSERT_EQ(packed.Pack(GetParam(), golden.blocks.data()), PackResult::kOk);
    EXPECT_TRUE(packed.AreGuardsWhole());
    for (int row = 0; row < n; ++row) {
      const std::vector<float> values = packed.Row(row);
      const float* expected = golden.values.data() + row * k;
      ASSERT_EQ(std::memcmp(values.data(), expected, values.size() * sizeof(float)), 0)
          << "row " << row << " of k = " << k;
    }
  }
}

class SubScaledTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All,
                         SubScaledTypes,
                         testing::Values(DType::kQ4_K, DType::kQ5_K, DType::kIQ4_XS),
                         TypeName);

// value = code * scale + min with the file's codes, where only scale and min are rounded to fp16:
// relative error 2^-11 in the normal range of fp16, 2^-25 below it.
TEST_P(SubScaledTypes, KeepCodesAndRoundScalesToFloat16) {
  const GoldenBlocks golden = ReadGolden(GetParam());
  const int k = 256;
  const int n = golden.num_values / k;
  PackedMatrix packed(PackedTypeFor(GetParam()), n, k);
  ASSERT_EQ(packed.Pack(GetParam(), golden.blocks.data()), PackResult::kOk);
  for (int row = 0; row < n; ++row) {
    const std::vector<float> values = packed.Row(row);
    const float* expected = golden.values.data() + row * k;
    for (int group = 0; group < k / kGroupSize; ++group) {
      const float* group_values = expected + group * kGroupSize;
      const auto [lowest, highest] = std::minmax_element(group_values, group_values + kGroupSize);
      // Both the scale's share and the min of a value are at most this large.
      const float reach = std::fabs(*lowest) + std::fabs(*highest) + (*highest - *lowest) * 2;
      const float bound = reach * 0x1.01p-11f + 128 * 0x1p-25f;
      for (int i = group * kGroupSize; i < (group + 1) * kGroupSize; ++i) {
        ASSERT_NEAR(values[static_cast<size_t>(i)], expected[i], bound);
      }
    }
  }
}

TEST(PackPanel, KeepsTheExactCodesOfQ4K) {
  const GoldenBlocks golden = ReadGolden(DType::kQ4_K);
  PackedMatrix packed(PackedType::kW4G32Min, 1, 256);
  ASSERT_EQ(packed.Pack(DType::kQ4_K, golden.blocks.data()), PackResult::kOk);
  const std::byte* codes =
      packed.matrix().panels + MakePanelLayout(PackedType::kW4G32Min, 256).codes_offset;
  for (size_t i = 0; i < 256; ++i) {
    // The file: 32 low nibbles, then 32 high nibbles, of each 32 bytes.
    const auto file_byte = static_cast<int>(golden.blocks[16 + i / 64 * 32 + i % 32]);
    const int file_code = i % 64 < 32 ? file_byte & 15 : file_byte >> 4;
    const auto panel_byte = static_cast<int>(codes[i / 8 * kLineBytes + i % 4]);
    ASSERT_EQ(i % 8 < 4 ? panel_byte & 15 : panel_byte >> 4, file_code) << i;
  }
}

class RoundedFileTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All,
                         RoundedFileTypes,
                         testing::Values(DType::kQ2_K, DType::kQ3_K, DType::kQ6_K),
                         TypeName);

TEST_P(RoundedFileTypes, AreRoundedWithinHalfAScale) {
  const GoldenBlocks golden = ReadGolden(GetParam());
  const int n = golden.num_values / 256;
  PackedMatrix packed(PackedTypeFor(GetParam()), n, 256);
  ASSERT_EQ(packed.Pack(GetParam(), golden.blocks.data()), PackResult::kOk);
  for (int row = 0; row < n; ++row) {
    const std::vector<float> values = packed.Row(row);
    for (size_t i = 0; i < values.size(); ++i) {
      const float* group = golden.values.data() + row * 256 + i / 32 * 32;
      float greatest = 0;
      for (int j = 0; j < kGroupSize; ++j) {
        greatest = std::max(greatest, std::fabs(group[j]));
      }
      const float scale = Float16ToFloat(FloatToFloat16RoundUp(greatest / 127));
      ASSERT_LE(std::fabs(values[i] - golden.values[static_cast<size_t>(row) * 256 + i]),
                scale * 0.5001f);
    }
  }
}

struct Rounding {
  PackedType type;
  float num_steps;  // codes from one extreme to the other
};

class RoundingTypes : public testing::TestWithParam<Rounding> {};
INSTANTIATE_TEST_SUITE_P(All,
                         RoundingTypes,
                         testing::Values(Rounding{PackedType::kW8G32, 254},
                                         Rounding{PackedType::kW8G32Min, 254},
                                         Rounding{PackedType::kW4G32Min, 15}),
                         [](const testing::TestParamInfo<Rounding>& param) {
                           return std::string(PackedTypeName(param.param.type));
                         });

TEST_P(RoundingTypes, StayWithinHalfAStepOverManyMagnitudes) {
  for (const float magnitude : {1e-7f, 1e-6f, 1e-5f, 1e-3f, 0.02f, 1.0f, 1e3f, 1e4f}) {
    const std::vector<float> values = NormalValues(1024, magnitude);
    std::vector<float> packed;
    ASSERT_EQ(PackOneRow(GetParam().type, values, &packed), PackResult::kOk) << magnitude;
    for (size_t begin = 0; begin < values.size(); begin += kGroupSize) {
      const auto group = values.begin() + static_cast<ptrdiff_t>(begin);
      const auto [low, high] = std::minmax_element(group, group + kGroupSize);
      const float range =
          HasMins(GetParam().type) ? *high - *low : 2 * std::max(std::fabs(*low), *high);
      // Scale and min are rounded to fp16: 2^-10 of themselves, or 2^-24 below its normal range.
      const float fp16_error = (std::fabs(*low) + std::fabs(*high)) * 0x1p-10f + 0x1p-24f;
      const float bound = range / GetParam().num_steps / 2 + fp16_error;
      for (size_t i = begin; i < begin + kGroupSize; ++i) {
        ASSERT_NEAR(packed[i], values[i], bound) << "magnitude " << magnitude;
      }
    }
  }
}

TEST(PackPanel, RoundsW4ToNearestOnTheGridOfTheExtreme) {
  // -8 .. 7 in steps of 0.5 with the extreme at -4: every value is on the grid.
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) {
    values.push_back(0.5f * static_cast<float>(i % 16 - 8));
  }
  std::vector<float> packed;
  ASSERT_EQ(PackOneRow(PackedType::kW4G32, values, &packed), PackResult::kOk);
  EXPECT_EQ(packed, values);
}

TEST(PackPanel, KeepsValuesOnTheW8GridExactly) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) {
    values.push_back(0.25f * static_cast<float>(i == 0 || i == 32 ? -127 : i * 3 % 255 - 127));
  }
  std::vector<float> packed;
  ASSERT_EQ(PackOneRow(PackedType::kW8G32, values, &packed), PackResult::kOk);
  EXPECT_EQ(packed, values);
}

TEST(PackPanel, KeepsFloatsAsTheyAre) {
  const std::vector<float> values = NormalValues(37 * 5, 1e-20f);
  PackedMatrix packed(PackedType::kF32, 5, 37);
  ASSERT_EQ(packed.Pack(DType::kF32, BytesOf(values)), PackResult::kOk);
  for (int row = 0; row < 5; ++row) {
    const auto begin = values.begin() + row * 37;
    EXPECT_EQ(packed.Row(row), std::vector<float>(begin, begin + 37));
  }
}

TEST(PackPanel, ConvertsHalvesExactlyToBothFloatTypes) {
  std::vector<uint16_t> halves;
  for (uint32_t bits = 0; bits < 0x7c00; bits += 31) {
    halves.push_back(static_cast<uint16_t>(bits | (bits % 2 << 15)));
  }
  halves.resize(halves.size() / 32 * 32);
  const int k = static_cast<int>(halves.size());
  PackedMatrix packed(PackedType::kF32, 1, k);
  ASSERT_EQ(packed.Pack(DType::kF16, reinterpret_cast<const std::byte*>(halves.data())),
            PackResult::kOk);
  std::vector<float> row = packed.Row(0);
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(row[i], Float16ToFloat(halves[i]));
  }
  PackedMatrix bfloats(PackedType::kBF16, 1, k);
  std::vector<uint16_t> source;
  for (uint32_t i = 0; i < halves.size(); ++i) {
    source.push_back(static_cast<uint16_t>(i * 17 % 0x7f80));
  }
  ASSERT_EQ(bfloats.Pack(DType::kBF16, reinterpret_cast<const std::byte*>(source.data())),
            PackResult::kOk);
  row = bfloats.Row(0);
  for (size_t i = 0; i < source.size(); ++i) {
    ASSERT_EQ(row[i], BFloat16ToFloat(source[i]));
  }
}

TEST(PackPanel, ReadsRowsAtAnyAddress) {
  const GoldenBlocks golden = ReadGolden(DType::kQ6_K);
  std::vector<std::byte> shifted(golden.blocks.size() + 1);
  std::copy(golden.blocks.begin(), golden.blocks.end(), shifted.begin() + 1);
  PackedMatrix aligned(PackedType::kW8G32, 8, 256);
  PackedMatrix unaligned(PackedType::kW8G32, 8, 256);
  ASSERT_EQ(aligned.Pack(DType::kQ6_K, golden.blocks.data()), PackResult::kOk);
  ASSERT_EQ(unaligned.Pack(DType::kQ6_K, shifted.data() + 1), PackResult::kOk);
  EXPECT_EQ(aligned.Row(7), unaligned.Row(7));
}

TEST(PackPanel, LeavesZerosInRowsPastTheLast) {
  const std::vector<float> values = NormalValues(3 * 64, 1);
  for (const PackedType type : kPackedTypes) {
    PackedMatrix packed(type, 3, 64);
    ASSERT_EQ(packed.Pack(DType::kF32, BytesOf(values)), PackResult::kOk);
    PanelMatrix whole = packed.matrix();
    whole.n = kPanelRows;
    std::vector<float> row(64, 1.0f);
    for (int row_idx = 3; row_idx < kPanelRows; ++row_idx) {
      UnpackRow(whole, row_idx, row.data());
      EXPECT_EQ(row, std::vector<float>(64, 0.0f)) << PackedTypeName(type) << " row " << row_idx;
    }
    EXPECT_TRUE(packed.AreGuardsWhole());
  }
}

TEST(PackPanel, PacksZerosAndConstants) {
  for (const PackedType type : kPackedTypes) {
    std::vector<float> packed;
    ASSERT_EQ(PackOneRow(type, std::vector<float>(64, 0.0f), &packed), PackResult::kOk);
    EXPECT_EQ(packed, std::vector<float>(64, 0.0f)) << PackedTypeName(type);
    ASSERT_EQ(PackOneRow(type, std::vector<float>(64, -0.5f), &packed), PackResult::kOk);
    EXPECT_NEAR(packed[63], -0.5f, 0.0005f) << PackedTypeName(type);
  }
}

TEST(PackPanel, ReportsNaNAndInfinityOfEveryFloatType) {
  for (const PackedType type : kPackedTypes) {
    for (const size_t place : {size_t{0}, size_t{31}, size_t{300}, size_t{319}}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
        std::vector<float> values = NormalValues(320, 0.02f);
        values[place] = bad;
        std::vector<float> packed;
        EXPECT_EQ(PackOneRow(type, values, &packed), PackResult::kNotFinite)
            << PackedTypeName(type) << " at " << place;
      }
    }
  }
}

TEST(PackPanel, ReportsNaNAndInfiniteScalesOfBlocks) {
  for (const DType dtype : kBlockTypes) {
    // Blocks of ones: every fp16 field is a NaN, every code the greatest.
    const std::vector<std::byte> blocks(StorageBytes(dtype, 256), std::byte{0xff});
    PackedMatrix packed(PackedTypeFor(dtype), 1, 256);
    EXPECT_EQ(packed.Pack(dtype, blocks.data()), PackResult::kNotFinite) << DTypeName(dtype);
  }
}

TEST(PackPanel, ReportsValuesBeyondFloat16Scales) {
  const float limit = 127 * kMaxFloat16;
  std::vector<float> packed;
  EXPECT_EQ(PackOneRow(PackedType::kW8G32, std::vector<float>(32, limit), &packed),
            PackResult::kOk);
  EXPECT_EQ(packed[0], limit);
  for (const PackedType type :
       {PackedType::kW8G32, PackedType::kW8G32Min, PackedType::kW4G32, PackedType::kW4G32Min}) {
    std::vector<float> values(32, -limit * 1.01f);
    EXPECT_EQ(PackOneRow(type, values, &packed), PackResult::kTooLarge) << PackedTypeName(type);
    values[3] = std::numeric_limits<float>::max();
    values[4] = -values[3];
    EXPECT_EQ(PackOneRow(type, values, &packed), PackResult::kTooLarge) << PackedTypeName(type);
  }
  EXPECT_EQ(
      PackOneRow(
          PackedType::kBF16, std::vector<float>(32, std::numeric_limits<float>::max()), &packed),
      PackResult::kTooLarge);
  // Q4_K: a super-scale of 65,504 times a sub-scale of 63.
  std::vector<std::byte> block(StorageBytes(DType::kQ4_K, 256));
  block[0] = std::byte{0xff};
  block[1] = std::byte{0x7b};
  block[4] = std::byte{63};
  PackedMatrix super(PackedType::kW4G32Min, 1, 256);
  EXPECT_EQ(super.Pack(DType::kQ4_K, block.data()), PackResult::kTooLarge);
}

TEST(PackPanel, KeepsCodesInRangeWhereScalesAreDenormal) {
  // Nearest fp16 scales here are up to 25 % below max / 127: rounded up, nothing is clipped.
  for (int step = 1; step < 400; ++step) {
    const float greatest = static_cast<float>(step) * 1e-6f;
    std::vector<float> values(32, greatest);
    values[7] = -greatest;
    std::vector<float> packed;
    ASSERT_EQ(PackOneRow(PackedType::kW8G32, values, &packed), PackResult::kOk);
    const float scale = Float16ToFloat(FloatToFloat16RoundUp(greatest / 127));
    ASSERT_NEAR(packed[0], greatest, scale * 0.5001f) << greatest;
    ASSERT_NEAR(packed[7], -greatest, scale * 0.5001f) << greatest;
  }
}

TEST(RowScaledTypes, RoundToTheNearestOf255Codes) {
  for (const float magnitude : {1e-20f, 1e-7f, 0.02f, 1e4f, 1e30f}) {
    const std::vector<float> values = NormalValues(576, magnitude);
    std::vector<float> packed;
    ASSERT_EQ(PackOneRow(PackedType::kW8, values, &packed), PackResult::kOk);
    float greatest = 0;
    for (const float value : values) {
      greatest = std::max(greatest, std::fabs(value));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(packed[i], values[i], greatest / 127 * 0.5001f) << magnitude;
    }
  }
}

// Relative error of all of `values` after packing.
double RelativeError(PackedType type, const std::vector<float>& values) {
  std::vector<float> packed;
  EXPECT_EQ(PackOneRow(type, values, &packed), PackResult::kOk);
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]);
    error += (static_cast<double>(packed[i]) - value) * (static_cast<double>(packed[i]) - value);
    power += value * value;
  }
  return std::sqrt(error / power);
}

TEST(RowScaledTypes, At4BitsAreNearlyAsGoodAsGroupsWithScalesOfTheirOwn) {
  for (const float magnitude : {1e-20f, 1e-7f, 0.02f, 1e4f, 1e30f}) {
    EXPECT_LT(RelativeError(PackedType::kW4, NormalValues(1024, magnitude)), 0.1) << magnitude;
  }
  // Groups whose magnitudes differ by a factor of 8, all within the reach of sub-scales.
  std::vector<float> values = NormalValues(1024, 0.02f);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= static_cast<float>(1 + i / kGroupSize % 8) / 8;
  }
  EXPECT_LT(RelativeError(PackedType::kW4, values),
            RelativeError(PackedType::kW4G32, values) * 1.05);
}

TEST(RowScaledTypes, Hold4BitValuesThatAreOnTheirGridExactly) {
  std::vector<float> values(96);
  for (size_t i = 0; i < values.size(); ++i) {
    const int sub_scale = i < 32 ? 15 : i < 64 ? 1 : 4;
    const int code = i % 32 == 0 ? 7 : static_cast<int>(i % 15) - 7;
    values[i] = static_cast<float>(code * sub_scale) * 0x1p-6f;
  }
  std::vector<float> packed;
  ASSERT_EQ(PackOneRow(PackedType::kW4, values, &packed), PackResult::kOk);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(packed[i], values[i], std::fabs(values[i]) * 1e-6f) << i;
  }
}

TEST(RowScaledTypes, ReportValuesThatWouldNotStayFinite) {
  for (const PackedType type : {PackedType::kW8, PackedType::kW4}) {
    std::vector<float> packed;
    EXPECT_EQ(PackOneRow(type, std::vector<float>(32, 1e38f), &packed), PackResult::kOk);
    EXPECT_TRUE(std::isfinite(packed[0]));
    EXPECT_EQ(PackOneRow(type, std::vector<float>(32, 1.1e38f), &packed), PackResult::kTooLarge);
    EXPECT_EQ(PackOneRow(type, std::vector<float>(32, 1e-38f), &packed), PackResult::kOk);
    EXPECT_EQ(packed, std::vector<float>(32, 0.0f));
  }
}

TEST(RowScaledTypes, RoundWhatBlocksHold) {
  const GoldenBlocks golden = ReadGolden(DType::kQ4_1);
  PackedMatrix packed(PackedType::kW8, 4, 512);
  ASSERT_EQ(packed.Pack(DType::kQ4_1, golden.blocks.data()), PackResult::kOk);
  for (int row = 0; row < 4; ++row) {
    const std::vector<float> values = packed.Row(row);
    const float* expected = golden.values.data() + row * 512;
    const float greatest = std::fabs(*std::max_element(
        expected, expected + 512, [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], greatest / 127 * 0.5001f);
    }
  }
}

TEST(PackFaultText, SaysWhatIsWrong) {
  EXPECT_EQ(PackFaultText(PackResult::kOk), "");
  EXPECT_EQ(PackFaultText(PackResult::kNotFinite), "holds NaN or infinity");
  EXPECT_NE(PackFaultText(PackResult::kTooLarge), "");
}

TEST(DequantizeRow, ConvertsIntegers) {
  const std::array<int8_t, 3> bytes = {-128, 0, 127};
  const std::array<int32_t, 3> words = {-2147483647 - 1, 5, 1 << 24};
  const std::array<int64_t, 3> longs = {-5, 1LL << 40, 0};
  std::array<float, 3> values = {};
  DequantizeRow(DType::kI8, reinterpret_cast<SourceRow>(bytes.data()), 3, values.data());
  EXPECT_EQ(values, (std::array<float, 3>{-128, 0, 127}));
  DequantizeRow(DType::kI32, reinterpret_cast<SourceRow>(words.data()), 3, values.data());
  EXPECT_EQ(values, (std::array<float, 3>{-2147483648.0f, 5, 16777216}));
  DequantizeRow(DType::kI64, reinterpret_cast<SourceRow>(longs.data()), 3, values.data());
  EXPECT_EQ(values, (std::array<float, 3>{-5, 1099511627776.0f, 0}));
}

}  // namespace
}  // namespace whinchat::kernels
