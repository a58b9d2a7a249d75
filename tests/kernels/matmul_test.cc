// SPDX-License-Identifier: Apache-2.0
// Every ISA's matmuls against the scalar ones, bit by bit; the scalar ones against the layout's
// definition in double precision.
#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/matmul/half.h"

namespace whinchat::kernels {
namespace {

constexpr uint64_t kSeed = 20261201;
constexpr PackedType kAllTypes[] = {PackedType::kF32,
                                    PackedType::kBF16,
                                    PackedType::kW8G32,
                                    PackedType::kW8G32Min,
                                    PackedType::kW4G32,
                                    PackedType::kW4G32Min,
                                    PackedType::kW8,
                                    PackedType::kW4};

enum class Contents {
  kRandom,
  kZeroScales,    // every scale and min is zero
  kExtremeCodes,  // weights all 0x00 or 0xFF bytes, activations all +-127, large scales
};

struct LineDeleter {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};

// A weight matrix with its memory. Panels end at the end of the allocation, so that ASan sees a
// read past them.
struct OwnedMatrix {
  PanelMatrix matrix;
  std::unique_ptr<std::byte[], LineDeleter> bytes;
};

uint16_t RandomHalf(std::mt19937_64& random, Contents contents) {
  switch (contents) {
    case Contents::kZeroScales:
      return 0;
    case Contents::kExtremeCodes:
      return static_cast<uint16_t>(0x7BFF | (random() & 0x8000));  // +-65504
    case Contents::kRandom:
      break;
  }
  const uint64_t kind = random() % 16;
  if (kind == 0) {
    return static_cast<uint16_t>(random() & 0x83FF);  // subnormal or zero
  }
  const uint64_t exponent = 3 + random() % 12;
  return static_cast<uint16_t>((random() & 0x83FF) | (exponent << 10));
}

void FillGroupScales(std::mt19937_64& random,
                     const PanelLayout& layout,
                     Contents contents,
                     std::byte* panel) {
  for (size_t i = 0; i < layout.codes_offset; i += sizeof(uint16_t)) {
    const uint16_t half = RandomHalf(random, contents);
    std::memcpy(panel + i, &half, sizeof(half));
  }
}

// Row scales and, where there are any, sub-scales 1 to 15 in every nibble.
void FillRowScales(std::mt19937_64& random,
                   const PanelLayout& layout,
                   Contents contents,
                   std::byte* panel) {
  for (size_t row = 0; row < kPanelRows; ++row) {
    float scale = static_cast<float>(random() % 1000) * 1e-4F;
    scale = contents == Contents::kZeroScales     ? 0.0F
            : contents == Contents::kExtremeCodes ? 1e30F
                                                  : scale;
    std::memcpy(panel + row * sizeof(scale), &scale, sizeof(scale));
  }
  for (size_t i = layout.sub_scales_offset; i < layout.codes_offset; ++i) {
    const auto pair = static_cast<int>(random() % 15 + 1 + 16 * (random() % 15 + 1));
    panel[i] = std::byte(contents == Contents::kExtremeCodes ? 0xFF : pair);
  }
}

OwnedMatrix MakeMatrix(
    PackedType type, int n, int k, Contents contents = Contents::kRandom, uint64_t seed = kSeed) {
  std::mt19937_64 random(seed);
  OwnedMatrix owned;
  owned.matrix = {.type = type, .n = n, .k = k, .panels = nullptr};
  const size_t total = owned.matrix.TotalBytes();
  owned.bytes.reset(static_cast<std::byte*>(::operator new[](total, std::align_val_t{64})));
  owned.matrix.panels = owned.bytes.get();
  const PanelLayout layout = MakePanelLayout(type, k);
  for (int p = 0; p < owned.matrix.num_panels(); ++p) {
    std::byte* const panel = owned.bytes.get() + layout.panel_bytes * static_cast<size_t>(p);
    if (HasRowScales(type)) {
      FillRowScales(random, layout, contents, panel);
    } else {
      FillGroupScales(random, layout, contents, panel);
    }
    for (size_t i = layout.codes_offset; i < layout.panel_bytes;) {
      if (type == PackedType::kF32) {
        const float value = static_cast<float>(random() % 20001) * 1e-4F - 1.0F;
        std::memcpy(panel + i, &value, sizeof(value));
        i += sizeof(value);
      } else if (type == PackedType::kBF16) {
        const float value = static_cast<float>(random() % 20001) * 1e-4F - 1.0F;
        std::memcpy(panel + i, reinterpret_cast<const std::byte*>(&value) + 2, 2);
        i += 2;
      } else {
        panel[i] = contents == Contents::kExtremeCodes ? std::byte(random() % 2 ? 0xFF : 0x00)
                                                       : std::byte(random() & 0xFF);
        ++i;
      }
    }
  }
  return owned;
}

// Blocks of `block`, the last of a row as short as k leaves it.
struct Activations {
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  std::vector<int32_t> block_sums;
  std::vector<float> f32;
  int block;

  Activations(int m, int k, int block_size, Contents contents = Contents::kRandom)
      : block(block_size) {
    std::mt19937_64 random(kSeed + 1);
    const size_t num_values = static_cast<size_t>(m) * static_cast<size_t>(k);
    for (size_t i = 0; i < num_values; ++i) {
      const int code = contents == Contents::kExtremeCodes ? (random() % 2 != 0 ? 127 : -127)
                                                           : static_cast<int>(random() % 255) - 127;
      codes.push_back(static_cast<int8_t>(code));
      f32.push_back(static_cast<float>(random() % 20001) * 1e-4F - 1.0F);
    }
    for (int t = 0; t < m; ++t) {
      const auto token = codes.begin() + static_cast<long>(t) * k;
      for (int begin = 0; begin < k; begin += kGroupSize) {
        sums.push_back(std::accumulate(token + begin, token + begin + kGroupSize, 0));
      }
      for (int begin = 0; begin < k; begin += block) {
        scales.push_back(random() % 16 == 0 ? 0.0F : static_cast<float>(random() % 1000) * 1e-3F);
        block_sums.push_back(std::accumulate(token + begin, token + std::min(begin + block, k), 0));
      }
    }
  }
};

// All of dst, with a pattern wherever nothing was written.
std::vector<float> RunMatmul(MatmulFn matmul,
                             const Activations& activations,
                             const PanelMatrix& rhs,
                             int m,
                             int panel_begin,
                             int panel_end,
                             size_t dst_stride) {
  std::vector<float> dst(static_cast<size_t>(m) * dst_stride, -12345.0F);
  MatmulArgs args;
  args.lhs = {.codes = activations.codes.data(),
              .scales = activations.scales.data(),
              .sums = activations.sums.data(),
              .block_sums = activations.block_sums.data(),
              .block = activations.block};
  args.lhs_f32 = activations.f32.data();
  args.m = m;
  args.rhs = rhs;
  args.panel_begin = panel_begin;
  args.panel_end = panel_end;
  args.dst = dst.data();
  args.dst_stride = dst_stride;
  matmul(args);
  return dst;
}

size_t PaddedRows(const PanelMatrix& matrix) {
  return static_cast<size_t>(matrix.num_panels()) * kPanelRows;
}

// The value of a weight, read straight from the layout's description.
double WeightValue(const PanelMatrix& matrix, int row, int column) {
  const PanelLayout layout = MakePanelLayout(matrix.type, matrix.k);
  const std::byte* const panel =
      matrix.panels + layout.panel_bytes * static_cast<size_t>(row / kPanelRows);
  const auto r = static_cast<size_t>(row % kPanelRows);
  const auto c = static_cast<size_t>(column);
  const auto half_at = [&](size_t offset) {
    uint16_t bits;
    std::memcpy(&bits, panel + offset + (c / kGroupSize * kPanelRows + r) * sizeof(bits), 2);
    return static_cast<double>(HalfToFloat(bits));
  };
  const std::byte* const codes = panel + layout.codes_offset;
  switch (matrix.type) {
    case PackedType::kF32: {
      float value;
      std::memcpy(&value, codes + (c * kPanelRows + r) * sizeof(value), sizeof(value));
      return value;
    }
    case PackedType::kBF16: {
      uint16_t bits;
      std::memcpy(&bits, codes + (c * kPanelRows + r) * sizeof(bits), sizeof(bits));
      return BF16ToFloat(bits);
    }
    case PackedType::kW8G32:
    case PackedType::kW8G32Min: {
      const int code = static_cast<int>(codes[(c / 4 * kPanelRows + r) * 4 + c % 4]) - 128;
      return code * half_at(0) + (HasMins(matrix.type) ? half_at(layout.mins_offset) : 0.0);
    }
    case PackedType::kW8:
    case PackedType::kW4: {
      float scale;
      std::memcpy(&scale, panel + r * sizeof(scale), sizeof(scale));
      if (matrix.type == PackedType::kW8) {
        const int code = static_cast<int>(codes[(c / 4 * kPanelRows + r) * 4 + c % 4]) - 128;
        return code * static_cast<double>(scale);
      }
      const int packed = static_cast<int>(codes[(c / 8 * kPanelRows + r) * 4 + c % 4]);
      const int code = (c % 8 < 4 ? packed % 16 : packed / 16) - 8;
      const auto pair = static_cast<int>(panel[64 + c / 64 * kPanelRows + r]);
      const int sub_scale = c % 64 < 32 ? pair % 16 : pair / 16;
      return code * sub_scale * static_cast<double>(scale);
    }
    case PackedType::kW4G32:
    case PackedType::kW4G32Min: {
      const int packed = static_cast<int>(codes[(c / 8 * kPanelRows + r) * 4 + c % 4]);
      const int code = c % 8 < 4 ? packed % 16 : packed / 16;
      return HasMins(matrix.type) ? code * half_at(0) + half_at(layout.mins_offset)
                                  : (code - 8) * half_at(0);
    }
  }
  return 0.0;
}

std::string CaseName(const testing::TestParamInfo<std::tuple<Isa, PackedType>>& param) {
  return std::string(IsaName(std::get<0>(param.param))) + "_" +
         std::string(PackedTypeName(std::get<1>(param.param)));
}

class MatmulOnIsa : public testing::TestWithParam<std::tuple<Isa, PackedType>> {
 protected:
  void SetUp() override {
    const auto [isa, packed_type] = GetParam();
    type = packed_type;
    const KernelTable* const table = FindKernelTable(isa);
    if (table == nullptr) {
      GTEST_SKIP() << "this processor or build lacks " << IsaName(isa);
    }
    tested = table->MatmulFor(type);
    reference = FindKernelTable(Isa::kScalar)->MatmulFor(type);
  }

  // Blocks of activations to test with: whole rows, heads, 256, and ones that end in a short block.
  std::vector<int> Blocks(int k) const {
    if (!HasRowScales(type)) {
      return {kGroupSize};
    }
    return k > 128 ? std::vector<int>{k, 64, 128, 256, 160} : std::vector<int>{k, 32, 64, 512};
  }

  void ExpectEqualToScalar(int n, int k, const std::vector<int>& token_counts, Contents contents) {
    for (const int block : Blocks(k)) {
      ExpectEqualToScalar(n, k, block, token_counts, contents);
    }
  }

  // Each m against the first m rows of one scalar run: an element depends on its token alone.
  void ExpectEqualToScalar(
      int n, int k, int block, const std::vector<int>& token_counts, Contents contents) {
    const OwnedMatrix rhs = MakeMatrix(type, n, k, contents);
    const int num_panels = rhs.matrix.num_panels();
    const int max_m = *std::max_element(token_counts.begin(), token_counts.end());
    const Activations activations(max_m, k, block, contents);
    const size_t stride = PaddedRows(rhs.matrix) + 5;
    const std::vector<float> expected =
        RunMatmul(reference, activations, rhs.matrix, max_m, 0, num_panels, stride);
    for (const int m : token_counts) {
      const std::vector<float> actual =
          RunMatmul(tested, activations, rhs.matrix, m, 0, num_panels, stride);
      ASSERT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0)
          << "n=" << n << " k=" << k << " block=" << block << " m=" << m << " seed=" << kSeed;
    }
  }

  PackedType type = PackedType::kF32;
  MatmulFn tested = nullptr;
  MatmulFn reference = nullptr;
};

std::vector<int> TokensUpTo40And130() {
  std::vector<int> token_counts = {130};
  for (int m = 1; m <= 40; ++m) {
    token_counts.push_back(m);
  }
  return token_counts;
}

TEST_P(MatmulOnIsa, EqualsScalarForEveryTokenCount) {
  for (const int k : {32, 64, 96}) {
    ExpectEqualToScalar(/*n=*/40, k, TokensUpTo40And130(), Contents::kRandom);
  }
}

TEST_P(MatmulOnIsa, EqualsScalarAtModelShapes) {
  for (const int k : {576, 1024, 1536, 3072}) {
    ExpectEqualToScalar(/*n=*/40, k, {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33}, Contents::kRandom);
  }
}

TEST_P(MatmulOnIsa, EqualsScalarForOnePanelAndForManyPanels) {
  ExpectEqualToScalar(/*n=*/1, /*k=*/64, {1, 2, 9, 20}, Contents::kRandom);
  ExpectEqualToScalar(/*n=*/16 * 9, /*k=*/64, {1, 2, 9, 20}, Contents::kRandom);
}

TEST_P(MatmulOnIsa, EqualsScalarWithZeroScales) {
  ExpectEqualToScalar(/*n=*/40, /*k=*/96, {1, 4, 20}, Contents::kZeroScales);
}

TEST_P(MatmulOnIsa, EqualsScalarAtTheGreatestProducts) {
  ExpectEqualToScalar(/*n=*/48, /*k=*/1024, {1, 4, 20}, Contents::kExtremeCodes);
}

TEST_P(MatmulOnIsa, WritesOnlyItsPanels) {
  const OwnedMatrix rhs = MakeMatrix(type, /*n=*/100, /*k=*/96);
  const Activations activations(/*m=*/20, /*k=*/96, /*block=*/32);
  const size_t stride = PaddedRows(rhs.matrix);
  for (const int m : {1, 3, 20}) {
    const std::vector<float> expected =
        RunMatmul(reference, activations, rhs.matrix, m, 2, 5, stride);
    const std::vector<float> actual = RunMatmul(tested, activations, rhs.matrix, m, 2, 5, stride);
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0);
    for (size_t t = 0; t < static_cast<size_t>(m); ++t) {
      for (size_t r = 0; r < stride; ++r) {
        const bool is_inside = r >= 2 * kPanelRows && r < 5 * kPanelRows;
        ASSERT_EQ(actual[t * stride + r] == -12345.0F, !is_inside) << "t=" << t << " r=" << r;
      }
    }
    const std::vector<float> none = RunMatmul(tested, activations, rhs.matrix, m, 3, 3, stride);
    EXPECT_EQ(std::count(none.begin(), none.end(), -12345.0F), static_cast<long>(none.size()));
  }
}

TEST_P(MatmulOnIsa, TokenAloneEqualsTokenInBatch) {
  constexpr int kTokens = 37;
  constexpr int kColumns = 576;
  const OwnedMatrix rhs = MakeMatrix(type, /*n=*/48, kColumns);
  const int block = HasRowScales(type) ? 128 : kGroupSize;
  const Activations batch(kTokens, kColumns, block);
  const size_t stride = PaddedRows(rhs.matrix);
  const std::vector<float> together =
      RunMatmul(tested, batch, rhs.matrix, kTokens, 0, rhs.matrix.num_panels(), stride);
  for (size_t t = 0; t < kTokens; ++t) {
    Activations alone(1, kColumns, block);
    std::copy_n(
        batch.codes.begin() + static_cast<long>(t) * kColumns, kColumns, alone.codes.begin());
    std::copy_n(batch.f32.begin() + static_cast<long>(t) * kColumns, kColumns, alone.f32.begin());
    constexpr long kGroups = kColumns / kGroupSize;
    const long num_blocks = (kColumns + block - 1) / block;
    const long first_block = static_cast<long>(t) * num_blocks;
    std::copy_n(batch.scales.begin() + first_block, num_blocks, alone.scales.begin());
    std::copy_n(batch.block_sums.begin() + first_block, num_blocks, alone.block_sums.begin());
    std::copy_n(batch.sums.begin() + static_cast<long>(t) * kGroups, kGroups, alone.sums.begin());
    const std::vector<float> single =
        RunMatmul(tested, alone, rhs.matrix, 1, 0, rhs.matrix.num_panels(), stride);
    ASSERT_EQ(std::memcmp(single.data(), together.data() + t * stride, stride * sizeof(float)), 0)
        << "token " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         MatmulOnIsa,
                         testing::Combine(
#if defined(__aarch64__)
                             testing::Values(Isa::kScalar, Isa::kNeon, Isa::kDotprod, Isa::kI8mm),
#else
                             testing::Values(Isa::kScalar,
                                             Isa::kAvx2,
                                             Isa::kAvxVnni,
                                             Isa::kAvx512Vnni,
                                             Isa::kAmx),
#endif
                             testing::ValuesIn(kAllTypes)),
                         CaseName);

TEST(MatmulScalar, MatchesTheLayoutsDefinition) {
  for (const PackedType type : kAllTypes) {
    constexpr int kColumns = 96;
    constexpr int kTokens = 3;
    const OwnedMatrix rhs = MakeMatrix(type, /*n=*/40, kColumns);
    const int block = HasRowScales(type) ? 64 : kGroupSize;
    const Activations activations(kTokens, kColumns, block);
    const size_t stride = PaddedRows(rhs.matrix);
    const std::vector<float> actual = RunMatmul(FindKernelTable(Isa::kScalar)->MatmulFor(type),
                                                activations,
                                                rhs.matrix,
                                                kTokens,
                                                0,
                                                3,
                                                stride);
    for (int t = 0; t < kTokens; ++t) {
      for (int row = 0; row < 40; ++row) {
        double expected = 0;
        double magnitude = 0;
        for (int c = 0; c < kColumns; ++c) {
          const auto i = static_cast<size_t>(t * kColumns + c);
          const auto scale_idx =
              static_cast<size_t>(t * ((kColumns + block - 1) / block) + c / block);
          const double lhs =
              IsQuantized(type)
                  ? activations.codes[i] * static_cast<double>(activations.scales[scale_idx])
                  : static_cast<double>(activations.f32[i]);
          const double product = lhs * WeightValue(rhs.matrix, row, c);
          expected += product;
          magnitude += std::abs(product);
        }
        ASSERT_NEAR(actual[static_cast<size_t>(t) * stride + static_cast<size_t>(row)],
                    expected,
                    1e-5 * magnitude + 1e-30)
            << PackedTypeName(type) << " token " << t << " row " << row;
      }
    }
  }
}

TEST(HalfToFloat, GivesKnownValues) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0F);
  EXPECT_EQ(HalfToFloat(0xC000), -2.0F);
  EXPECT_EQ(HalfToFloat(0x7BFF), 65504.0F);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(HalfToFloat(0x83FF), -1023 * 0x1p-24F);
  EXPECT_TRUE(std::signbit(HalfToFloat(0x8000)));
  EXPECT_TRUE(std::isinf(HalfToFloat(0x7C00)));
  EXPECT_TRUE(std::isnan(HalfToFloat(0x7E00)));
}

}  // namespace
}  // namespace whinchat::kernels
