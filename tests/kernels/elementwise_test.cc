// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels: the scalar ones against double precision, every ISA against the scalar
// ones bit for bit.
#include "kernels/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel_table.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomNormal(int n, uint32_t seed, float deviation = 1.0F) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> x(static_cast<size_t>(n));
  std::generate(x.begin(), x.end(), [&] { return normal(generator); });
  return x;
}

// Vectors on which kernels tend to differ: usual ones, zeros of both signs, subnormal, huge, one
// spike among small values, one constant, ties of rounding.
std::vector<std::vector<float>> Inputs(int n) {
  std::vector<std::vector<float>> inputs = {RandomNormal(n, 1),
                                            RandomNormal(n, 2, 1e-41F),
                                            RandomNormal(n, 3, 1e-30F),
                                            RandomNormal(n, 4, 1e18F),
                                            RandomNormal(n, 5, 1e37F)};
  inputs.emplace_back(static_cast<size_t>(n), 0.0F);
  inputs.emplace_back(static_cast<size_t>(n), -0.0F);
  inputs.emplace_back(static_cast<size_t>(n), -3.25F);
  std::vector<float> spike = RandomNormal(n, 6, 1e-3F);
  spike[static_cast<size_t>(n) - 1] = -1000.0F;
  inputs.push_back(spike);
  std::vector<float> ties(static_cast<size_t>(n));
  for (size_t i = 0; i < ties.size(); ++i) {
    ties[i] = static_cast<float>(i % 254) - 126.5F;  // x.5 when the scale is 1
  }
  ties[0] = 127.0F;
  inputs.push_back(ties);
  return inputs;
}

template <class T>
testing::AssertionResult SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << "sizes " << a.size() << " and " << b.size();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      return testing::AssertionFailure()
             << "first difference at " << i << ": " << +a[i] << " and " << +b[i];
    }
  }
  return testing::AssertionSuccess();
}

ElementwiseKernels Scalar() {
  return MakeElementwiseKernels(Isa::kScalar);
}

std::string IsaTestName(const testing::TestParamInfo<Isa>& param) {
  return std::string(IsaName(param.param));
}

double UlpError(float got, double want) {
  const float rounded = static_cast<float>(want);
  const double ulp = static_cast<double>(std::nextafter(rounded, kInfinity)) - rounded;
  return std::abs(got - want) / ulp;
}

TEST(ExpScalar, IsWithinTwoUlpOfDouble) {
  // Every 4,001st float of [-87.3, 88.7]: about 560,000 values, dense near zero as floats are.
  constexpr uint32_t kStride = 4001;
  double worst = 0.0;
  float worst_x = 0.0F;
  int num_values = 0;
  for (const auto& [sign, limit] : {std::pair{1.0F, 88.7F}, std::pair{-1.0F, 87.3F}}) {
    for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(limit); bits += kStride) {
      const float x = sign * std::bit_cast<float>(bits);
      const double error = UlpError(ExpScalar(x), std::exp(static_cast<double>(x)));
      ++num_values;
      if (error > worst) {
        worst = error;
        worst_x = x;
      }
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << worst_x;
  EXPECT_GT(num_values, 500000);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(ExpScalar, HasExactEdges) {
  EXPECT_EQ(ExpScalar(0.0F), 1.0F);
  EXPECT_EQ(ExpScalar(-0.0F), 1.0F);
  EXPECT_EQ(ExpScalar(-kInfinity), 0.0F);
  EXPECT_EQ(ExpScalar(kInfinity), kInfinity);
  EXPECT_EQ(ExpScalar(std::numeric_limits<float>::lowest()), 0.0F);
  EXPECT_EQ(ExpScalar(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(ExpScalar(-87.4F), 0.0F);
  EXPECT_EQ(ExpScalar(88.8F), kInfinity);
  EXPECT_TRUE(std::isnormal(ExpScalar(-87.3F)));
  EXPECT_TRUE(std::isnormal(ExpScalar(88.7F)));
  EXPECT_EQ(ExpScalar(std::numeric_limits<float>::denorm_min()), 1.0F);
  EXPECT_TRUE(std::isnan(ExpScalar(kNan)));
  EXPECT_TRUE(std::isnan(ExpScalar(std::bit_cast<float>(0xFFC001FFU))));  // payload in the low bits
}

TEST(RmsNorm, MatchesDouble) {
  for (const int n : {16, 64, 128, 576, 1024, 3072}) {
    const std::vector<float> x = RandomNormal(n, 7, 3.0F);
    const std::vector<float> gain = RandomNormal(n, 8);
    std::vector<float> out(x.size());
    Scalar().rms_norm(x.data(), gain.data(), 1e-6F, n, out.data());
    double squares = 0.0;
    for (const float value : x) {
      squares += static_cast<double>(value) * value;
    }
    const double root = std::sqrt(squares / n + static_cast<double>(1e-6F));
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = x[i] / root * gain[i];
      ASSERT_NEAR(out[i], want, 1e-6 * std::abs(want)) << "n " << n << " i " << i;
    }
  }
}

TEST(RmsNorm, OfZerosIsZeroAndMayBeInPlace) {
  std::vector<float> x(64, 0.0F);
  const std::vector<float> gain = RandomNormal(64, 9);
  Scalar().rms_norm(x.data(), gain.data(), 1e-6F, 64, x.data());
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](float v) { return v == 0.0F; }));

  std::vector<float> in_place = RandomNormal(64, 10);
  std::vector<float> out(64);
  Scalar().rms_norm(in_place.data(), gain.data(), 1e-6F, 64, out.data());
  Scalar().rms_norm(in_place.data(), gain.data(), 1e-6F, 64, in_place.data());
  EXPECT_TRUE(SameBits(in_place, out));
}

TEST(QuantizeRow, IsWithinHalfAStepAndSumsItsCodes) {
  constexpr int kLength = 32 * 20;
  for (const std::vector<float>& x : Inputs(kLength)) {
    std::vector<int8_t> codes(kLength);
    std::vector<float> scales(kLength / 32);
    std::vector<int32_t> sums(kLength / 32);
    Scalar().quantize_row(
        x.data(), kLength, 32, {codes.data(), scales.data(), sums.data(), sums.data()});
    for (size_t g = 0; g < scales.size(); ++g) {
      float max_abs = 0.0F;
      int32_t sum = 0;
      for (size_t i = g * 32; i < (g + 1) * 32; ++i) {
        max_abs = std::max(max_abs, std::abs(x[i]));
        sum += codes[i];
      }
      EXPECT_EQ(sums[g], sum);
      if (max_abs < 0x1p-100F) {
        EXPECT_EQ(scales[g], 0.0F);
        EXPECT_EQ(std::count(&codes[g * 32], &codes[g * 32] + 32, 0), 32);
        continue;
      }
      EXPECT_EQ(scales[g], max_abs / 127.0F);
      for (size_t i = g * 32; i < (g + 1) * 32; ++i) {
        const double steps = static_cast<double>(x[i]) / scales[g];
        ASSERT_LE(std::abs(steps - codes[i]), 0.5001) << "group " << g << " x " << x[i];
        ASSERT_GE(codes[i], -127);
      }
    }
  }
}

TEST(QuantizeRow, GivesAShortLastBlockAScaleOfItsOwn) {
  std::vector<float> x = RandomNormal(160, 12);
  x[40] = 100.0F;
  x[159] = -50.0F;
  std::vector<int8_t> codes(160);
  std::vector<float> scales(2);
  std::vector<int32_t> sums(5);
  std::vector<int32_t> block_sums(2);
  Scalar().quantize_row(
      x.data(), 160, 128, {codes.data(), scales.data(), sums.data(), block_sums.data()});
  EXPECT_EQ(scales, (std::vector<float>{100.0F / 127, 50.0F / 127}));
  EXPECT_EQ(codes[40], 127);
  EXPECT_EQ(codes[159], -127);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(codes[i] * scales[i / 128], x[i], scales[i / 128] * 0.5001F);
  }
  EXPECT_EQ(block_sums[0], sums[0] + sums[1] + sums[2] + sums[3]);
  EXPECT_EQ(block_sums[1], sums[4]);
}

TEST(QuantizeRow, RoundsHalfToEven) {
  std::vector<float> x(32, 0.0F);
  x[0] = 127.0F;
  x[1] = 0.5F;
  x[2] = 1.5F;
  x[3] = -2.5F;
  x[4] = -3.5F;
  std::vector<int8_t> codes(32);
  float scale = 0.0F;
  int32_t sum = 0;
  Scalar().quantize_row(x.data(), 32, 32, {codes.data(), &scale, &sum, &sum});
  EXPECT_EQ(scale, 1.0F);
  EXPECT_EQ(codes[1], 0);
  EXPECT_EQ(codes[2], 2);
  EXPECT_EQ(codes[3], -2);
  EXPECT_EQ(codes[4], -4);
  EXPECT_EQ(sum, 127 + 2 - 2 - 4);
}

TEST(QuantizeQuery, FoldsTheSoftmaxScaleIntoItsScale) {
  const std::vector<float> q = RandomNormal(96, 11);
  std::vector<int8_t> codes(96);
  float scale = 0.0F;
  int32_t sum = 0;
  Scalar().quantize_query(q.data(), 96, 0.125F, codes.data(), &scale, &sum);
  int32_t want_sum = 0;
  for (size_t d = 0; d < q.size(); ++d) {
    EXPECT_NEAR(codes[d] * scale / 0.125F, q[d], 0.5001F * scale / 0.125F);
    want_sum += codes[d];
  }
  EXPECT_EQ(sum, want_sum);
}

TEST(SiluMul, MatchesDouble) {
  constexpr int kLength = 4096;
  std::vector<float> gate(kLength);
  for (size_t i = 0; i < gate.size(); ++i) {
    gate[i] = static_cast<float>(i) * 0.04F - 80.0F;
  }
  const std::vector<float> up = RandomNormal(kLength, 12);
  std::vector<float> out(kLength);
  Scalar().silu_mul(gate.data(), up.data(), kLength, out.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double x = gate[i];
    const double want = x / (1.0 + std::exp(-x)) * up[i];
    ASSERT_NEAR(out[i], want, 4e-7 * std::abs(want) + 1e-40) << "gate " << x;
  }
}

TEST(SiluMul, SaturatesWithoutNan) {
  std::vector<float> gate(16, -1000.0F);
  gate[1] = 1000.0F;
  gate[2] = -kInfinity / 2.0F == -kInfinity ? -3e38F : 0.0F;
  const std::vector<float> up(16, 2.0F);
  std::vector<float> out(16);
  Scalar().silu_mul(gate.data(), up.data(), 16, out.data());
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_EQ(out[1], 2000.0F);
  EXPECT_EQ(out[2], 0.0F);
}

TEST(Rope, RotatesEachPairByItsAngle) {
  for (const int rotary_dim : {16, 32, 48, 64, 80, 112, 128, 256}) {
    const int half = rotary_dim / 2;
    const std::vector<float> x = RandomNormal(rotary_dim, 13);
    std::vector<float> cos(static_cast<size_t>(half));
    std::vector<float> sin(static_cast<size_t>(half));
    std::vector<double> angles(static_cast<size_t>(half));
    for (size_t i = 0; i < angles.size(); ++i) {
      angles[i] = 1234.0 / std::pow(10000.0, 2.0 * static_cast<double>(i) / rotary_dim);
      cos[i] = static_cast<float>(std::cos(angles[i]));
      sin[i] = static_cast<float>(std::sin(angles[i]));
    }
    std::vector<float> out = x;
    Scalar().rope(out.data(), cos.data(), sin.data(), rotary_dim);
    for (size_t i = 0; i < angles.size(); ++i) {
      const size_t j = i + static_cast<size_t>(half);
      const double a = x[i];
      const double b = x[j];
      ASSERT_NEAR(out[i], a * std::cos(angles[i]) - b * std::sin(angles[i]), 1e-6);
      ASSERT_NEAR(out[j], b * std::cos(angles[i]) + a * std::sin(angles[i]), 1e-6);
    }
  }
}

TEST(Rope, LeavesWhatFollowsTheRotatedPart) {
  std::vector<float> x = RandomNormal(64, 14);
  const std::vector<float> before = x;
  const std::vector<float> cos(8, 0.0F);
  const std::vector<float> sin(8, 1.0F);
  Scalar().rope(x.data(), cos.data(), sin.data(), 16);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(x[i], -before[i + 8]);
    EXPECT_EQ(x[i + 8], before[i]);
  }
  EXPECT_TRUE(std::equal(x.begin() + 16, x.end(), before.begin() + 16));
}

// The value of one element of a block, read by the layout's own words.
float Dequantized(const std::vector<std::byte>& head, int head_dim, int slot, int d, bool is_key) {
  const KvLayout layout = {.dtype = KvDType::kInt8, .head_dim = head_dim};
  float scale = 0.0F;
  const size_t scales = is_key ? layout.KScalesOffset() : layout.VScalesOffset();
  std::memcpy(&scale, &head[scales + sizeof(float) * static_cast<size_t>(slot)], sizeof(scale));
  if (is_key) {
    const auto index = static_cast<size_t>((d / 4 * 32 + slot) * 4 + d % 4);
    return scale * static_cast<float>(static_cast<int>(head[layout.KCodesOffset() + index]) - 128);
  }
  const auto index = static_cast<size_t>((slot / 4 * head_dim + d) * 4 + slot % 4);
  return scale * static_cast<float>(static_cast<int8_t>(head[layout.VCodesOffset() + index]));
}

TEST(WriteKv, Int8SlotsHoldTheirTokenAndNoOther) {
  for (const int head_dim : {16, 64, 80, 128, 256}) {
    const KvLayout layout = {.dtype = KvDType::kInt8, .head_dim = head_dim};
    std::vector<std::byte> head(layout.HeadBytes(), std::byte{0});
    std::vector<std::vector<float>> keys(32);
    std::vector<std::vector<float>> values(32);
    for (int written = 0; written < 32; ++written) {
      const int slot = written * 13 % 32;  // any order
      const auto s = static_cast<size_t>(slot);
      keys[s] = RandomNormal(
          head_dim, 100 + static_cast<uint32_t>(slot), 0.1F + 0.3F * static_cast<float>(slot));
      values[s] = RandomNormal(head_dim, 200 + static_cast<uint32_t>(slot), 2.0F);
      Scalar().write_kv_int8(keys[s].data(), values[s].data(), head_dim, slot, head.data());
    }
    for (int slot = 0; slot < 32; ++slot) {
      for (const bool is_key : {true, false}) {
        const std::vector<float>& want = (is_key ? keys : values)[static_cast<size_t>(slot)];
        float max_abs = 0.0F;
        for (const float x : want) {
          max_abs = std::max(max_abs, std::abs(x));
        }
        for (int d = 0; d < head_dim; ++d) {
          ASSERT_NEAR(Dequantized(head, head_dim, slot, d, is_key),
                      want[static_cast<size_t>(d)],
                      0.5001F * max_abs / 127.0F)
              << "head_dim " << head_dim << " slot " << slot << " d " << d;
        }
      }
    }
  }
}

TEST(WriteKv, Int8ZerosGiveScaleZero) {
  const KvLayout layout = {.dtype = KvDType::kInt8, .head_dim = 16};
  std::vector<std::byte> head(layout.HeadBytes(), std::byte{0xFF});
  const std::vector<float> zeros(16, 0.0F);
  Scalar().write_kv_int8(zeros.data(), zeros.data(), 16, 5, head.data());
  for (int d = 0; d < 16; ++d) {
    EXPECT_EQ(Dequantized(head, 16, 5, d, /*is_key=*/true), 0.0F);
    EXPECT_EQ(Dequantized(head, 16, 5, d, /*is_key=*/false), 0.0F);
  }
}

TEST(WriteKv, F32RowsAreCopies) {
  const KvLayout layout = {.dtype = KvDType::kF32, .head_dim = 48};
  std::vector<std::byte> head(layout.HeadBytes(), std::byte{0});
  const std::vector<float> k = RandomNormal(48, 15);
  const std::vector<float> v = RandomNormal(48, 16);
  Scalar().write_kv_f32(k.data(), v.data(), 48, 31, head.data());
  const size_t row_bytes = 48 * sizeof(float);
  EXPECT_EQ(std::memcmp(&head[31 * row_bytes], k.data(), row_bytes), 0);
  EXPECT_EQ(std::memcmp(&head[layout.VFloatsOffset() + 31 * row_bytes], v.data(), row_bytes), 0);
  EXPECT_EQ(std::count(head.begin(), head.begin() + 31 * static_cast<int>(row_bytes), std::byte{0}),
            31 * static_cast<int>(row_bytes));
}

class ElementwiseOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const KernelTable* const table = FindKernelTable(GetParam());
    if (table == nullptr) {
      GTEST_SKIP() << "this processor or build lacks " << IsaName(GetParam());
    }
    kernels_ = table->elementwise;
  }

  ElementwiseKernels kernels_;
  const ElementwiseKernels scalar_ = Scalar();
};

INSTANTIATE_TEST_SUITE_P(AllIsas,
                         ElementwiseOnIsa,
                         testing::Values(Isa::kScalar,
                                         Isa::kAvx2,
                                         Isa::kAvxVnni,
                                         Isa::kAvx512Vnni,
                                         Isa::kAmx,
                                         Isa::kNeon,
                                         Isa::kDotprod,
                                         Isa::kI8mm),
                         IsaTestName);

TEST_P(ElementwiseOnIsa, RmsNormEqualsScalar) {
  for (const int n : {16, 32, 48, 64, 128, 576, 1040}) {
    const std::vector<float> gain = RandomNormal(n, 20);
    for (const std::vector<float>& x : Inputs(n)) {
      std::vector<float> want(x.size());
      std::vector<float> got(x.size());
      scalar_.rms_norm(x.data(), gain.data(), 1e-6F, n, want.data());
      kernels_.rms_norm(x.data(), gain.data(), 1e-6F, n, got.data());
      ASSERT_TRUE(SameBits(got, want)) << "n " << n;
    }
  }
}

struct QuantizedVectors {
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  std::vector<int32_t> block_sums;

  QuantizedVectors(const ElementwiseKernels& kernels, const std::vector<float>& x, int block) {
    const int k = static_cast<int>(x.size());
    const auto num_blocks = static_cast<size_t>((k + block - 1) / block);
    codes.resize(x.size());
    scales.resize(num_blocks);
    sums.resize(x.size() / 32);
    block_sums.resize(num_blocks);
    kernels.quantize_row(
        x.data(), k, block, {codes.data(), scales.data(), sums.data(), block_sums.data()});
  }
};

TEST_P(ElementwiseOnIsa, QuantizeRowEqualsScalar) {
  for (const int k : {32, 64, 576, 1056}) {
    std::vector<std::vector<float>> inputs = Inputs(k);
    inputs.push_back(RandomNormal(k, 21));
    inputs.back()[3] = kNan;
    inputs.back()[17] = kInfinity;
    for (const std::vector<float>& x : inputs) {
      for (const int block : {32, 64, 256, k}) {
        const QuantizedVectors want(scalar_, x, block);
        const QuantizedVectors got(kernels_, x, block);
        ASSERT_TRUE(SameBits(got.codes, want.codes)) << "k " << k << " block " << block;
        ASSERT_TRUE(SameBits(got.scales, want.scales)) << "k " << k << " block " << block;
        ASSERT_TRUE(SameBits(got.sums, want.sums)) << "k " << k << " block " << block;
        ASSERT_TRUE(SameBits(got.block_sums, want.block_sums)) << "k " << k << " block " << block;
      }
    }
  }
}

TEST_P(ElementwiseOnIsa, AddEqualsScalar) {
  for (const int n : {16, 80, 576}) {
    const std::vector<float> y = RandomNormal(n, 22);
    for (const std::vector<float>& x : Inputs(n)) {
      std::vector<float> want = x;
      std::vector<float> got = x;
      scalar_.add(want.data(), y.data(), n);
      kernels_.add(got.data(), y.data(), n);
      ASSERT_TRUE(SameBits(got, want)) << "n " << n;
    }
  }
}

TEST_P(ElementwiseOnIsa, SiluMulEqualsScalarOverTheWholeRangeOfExp) {
  // Steps of 0.0007 over [-100, 100], so exp meets both of its cut-offs.
  constexpr int kLength = 285'728;
  std::vector<float> gate(kLength);
  for (size_t i = 0; i < gate.size(); ++i) {
    gate[i] = static_cast<float>(i) * 0.0007F - 100.0F;
  }
  const std::vector<float> up(kLength, 1.0F);
  std::vector<float> want(kLength);
  std::vector<float> got(kLength);
  scalar_.silu_mul(gate.data(), up.data(), kLength, want.data());
  kernels_.silu_mul(gate.data(), up.data(), kLength, got.data());
  ASSERT_TRUE(SameBits(got, want));
  for (const std::vector<float>& x : Inputs(64)) {
    std::vector<float> in_place = x;
    scalar_.silu_mul(x.data(), gate.data(), 64, want.data());
    kernels_.silu_mul(in_place.data(), gate.data(), 64, in_place.data());
    ASSERT_TRUE(SameBits(in_place, std::vector<float>(want.begin(), want.begin() + 64)));
  }
}

TEST_P(ElementwiseOnIsa, RopeEqualsScalar) {
  for (const int rotary_dim : {16, 32, 48, 64, 80, 96, 112, 128, 256}) {
    const std::vector<float> cos = RandomNormal(rotary_dim / 2, 23);
    const std::vector<float> sin = RandomNormal(rotary_dim / 2, 24);
    for (const std::vector<float>& x : Inputs(rotary_dim)) {
      std::vector<float> want = x;
      std::vector<float> got = x;
      scalar_.rope(want.data(), cos.data(), sin.data(), rotary_dim);
      kernels_.rope(got.data(), cos.data(), sin.data(), rotary_dim);
      ASSERT_TRUE(SameBits(got, want)) << "rotary_dim " << rotary_dim;
    }
  }
}

TEST_P(ElementwiseOnIsa, WriteKvEqualsScalar) {
  for (const int head_dim : {16, 32, 64, 80, 96, 112, 128, 256}) {
    for (const KvDType dtype : {KvDType::kInt8, KvDType::kF32}) {
      const KvLayout layout = {.dtype = dtype, .head_dim = head_dim};
      std::vector<uint8_t> want(layout.HeadBytes(), 0xA5);
      std::vector<uint8_t> got = want;
      const std::vector<float> v = RandomNormal(head_dim, 25);
      int slot = 0;
      for (const std::vector<float>& k : Inputs(head_dim)) {
        const bool is_int8 = dtype == KvDType::kInt8;
        (is_int8 ? scalar_.write_kv_int8 : scalar_.write_kv_f32)(
            k.data(), v.data(), head_dim, slot, reinterpret_cast<std::byte*>(want.data()));
        (is_int8 ? kernels_.write_kv_int8 : kernels_.write_kv_f32)(
            k.data(), v.data(), head_dim, slot, reinterpret_cast<std::byte*>(got.data()));
        slot = (slot + 7) % 32;
      }
      ASSERT_TRUE(SameBits(got, want)) << "head_dim " << head_dim;
    }
  }
}

TEST_P(ElementwiseOnIsa, QuantizeQueryEqualsScalar) {
  for (const int head_dim : {16, 32, 64, 80, 96, 112, 128, 256}) {
    for (const std::vector<float>& q : Inputs(head_dim)) {
      std::vector<int8_t> codes[2] = {std::vector<int8_t>(q.size()), std::vector<int8_t>(q.size())};
      std::vector<float> scales(2);
      std::vector<int32_t> sums(2);
      scalar_.quantize_query(q.data(), head_dim, 0.0883F, codes[0].data(), &scales[0], &sums[0]);
      kernels_.quantize_query(q.data(), head_dim, 0.0883F, codes[1].data(), &scales[1], &sums[1]);
      ASSERT_TRUE(SameBits(codes[1], codes[0])) << "head_dim " << head_dim;
      ASSERT_EQ(scales[1], scales[0]);
      ASSERT_EQ(sums[1], sums[0]);
    }
  }
}

TEST_P(ElementwiseOnIsa, ArgmaxFindsTheGreatestAtEveryPlaceAndLength) {
  for (int n = 1; n <= 70; ++n) {
    std::vector<float> x = RandomNormal(n, static_cast<uint32_t>(n));
    for (int i = 0; i < n; ++i) {
      const float before = std::exchange(x[static_cast<size_t>(i)], 10.0F);
      ASSERT_EQ(kernels_.argmax(x.data(), n), i) << "n " << n;
      x[static_cast<size_t>(i)] = before;
    }
  }
  for (const int n : {511, 512, 513, 1024, 1500}) {  // around the kernel's chunks
    std::vector<float> x = RandomNormal(n, static_cast<uint32_t>(n));
    for (int i = 0; i < n; i += 31) {
      const float before = std::exchange(x[static_cast<size_t>(i)], 10.0F);
      ASSERT_EQ(kernels_.argmax(x.data(), n), i) << "n " << n;
      x[static_cast<size_t>(i)] = before;
    }
  }
  std::vector<float> logits = RandomNormal(151'936, 30);
  const auto want = std::max_element(logits.begin(), logits.end()) - logits.begin();
  EXPECT_EQ(kernels_.argmax(logits.data(), 151'936), want);
}

TEST_P(ElementwiseOnIsa, ArgmaxTakesTheLowestIndexAmongEquals) {
  std::vector<float> x(100, 1.0F);
  EXPECT_EQ(kernels_.argmax(x.data(), 100), 0);
  x[99] = x[40] = x[23] = 2.0F;
  EXPECT_EQ(kernels_.argmax(x.data(), 100), 23);
  std::vector<float> chunks(2000, 1.0F);
  chunks[1999] = chunks[1300] = chunks[700] = 2.0F;
  EXPECT_EQ(kernels_.argmax(chunks.data(), 2000), 700);
  std::vector<float> zeros(40, 0.0F);
  zeros[0] = -0.0F;  // equal to 0, so it is the first
  EXPECT_EQ(kernels_.argmax(zeros.data(), 40), 0);
  const std::vector<float> lowest(40, -kInfinity);
  EXPECT_EQ(kernels_.argmax(lowest.data(), 40), 0);
}

TEST_P(ElementwiseOnIsa, ArgmaxNeverPicksNan) {
  for (int n = 2; n <= 70; ++n) {
    for (int i = 0; i < n; ++i) {
      std::vector<float> x(static_cast<size_t>(n), kNan);
      x[static_cast<size_t>(i)] = -5.0F;
      ASSERT_EQ(kernels_.argmax(x.data(), n), i) << "n " << n;
      x[static_cast<size_t>(i)] = -kInfinity;
      ASSERT_EQ(kernels_.argmax(x.data(), n), i) << "n " << n;
    }
  }
  std::vector<float> late(2000, kNan);
  late[1400] = -kInfinity;
  EXPECT_EQ(kernels_.argmax(late.data(), 2000), 1400);
  late[1999] = -5.0F;
  EXPECT_EQ(kernels_.argmax(late.data(), 2000), 1999);
  const std::vector<float> nothing(33, kNan);
  EXPECT_EQ(kernels_.argmax(nothing.data(), 33), 0);
}

}  // namespace
}  // namespace whinchat::kernels
