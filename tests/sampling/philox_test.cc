// SPDX-License-Identifier: Apache-2.0
// Known answers published with Random123, and that positions and seeds are uniform and unrelated.
#include "sampling/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sampling/softmax.h"

namespace whinchat {
namespace {

TEST(Philox, GivesTheKnownAnswers) {
  using Word4 = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Word4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Word4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Word4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Pairs of neighbours fall evenly into a 16 x 16 grid: 255 degrees of freedom, 0.1 % limit 330.5.
void ExpectEvenPairs(const std::vector<double>& numbers) {
  std::vector<int> counts(256);
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    ASSERT_GE(numbers[i], 0.0);
    ASSERT_LT(numbers[i], 1.0);
    ++counts[static_cast<size_t>(numbers[i] * 16) * 16 + static_cast<size_t>(numbers[i + 1] * 16)];
  }
  const double expected = static_cast<double>(numbers.size()) / 2 / 256;
  double chi_square = 0;
  for (const int count : counts) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 330.5);
  EXPECT_GT(chi_square, 190.0);
}

TEST(UniformAt, IsEvenOverPositionsAndOverSeeds) {
  std::vector<double> by_position;
  std::vector<double> by_seed;
  for (uint64_t i = 0; i < 100'000; ++i) {
    by_position.push_back(UniformAt(42, i));
    by_seed.push_back(UniformAt(i, 42));
  }
  ExpectEvenPairs(by_position);
  ExpectEvenPairs(by_seed);
}

TEST(UniformAt, UsesAllBitsOfTheSeed) {
  EXPECT_NE(UniformAt(1, 0), UniformAt(1 + (uint64_t{1} << 32), 0));
  EXPECT_NE(UniformAt(1, 0), UniformAt(1 + (uint64_t{1} << 63), 0));
}

TEST(ExpNonPositive, IsWithin1e15OfLibm) {
  double worst = 0;
  for (int i = 0; i <= 700'000; ++i) {
    const double x = -0.001 * i;
    worst = std::max(worst, std::abs(ExpNonPositive(x) / std::exp(x) - 1.0));
  }
  EXPECT_LT(worst, 1e-15);
  EXPECT_EQ(ExpNonPositive(0.0), 1.0);
  EXPECT_EQ(ExpNonPositive(5.0), 1.0);
  EXPECT_EQ(ExpNonPositive(-701.0), 0.0);
  EXPECT_EQ(ExpNonPositive(-INFINITY), 0.0);
  EXPECT_EQ(ExpNonPositive(NAN), 0.0);
}

}  // namespace
}  // namespace whinchat
