// SPDX-License-Identifier: Apache-2.0
// The 16-bit floats against their definition, for every one of them.
#include "tensor/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace whinchat {
namespace {

// IEEE 754 binary16, literally.
double DefinitionOfFloat16(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, -24)
                       : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Float16, EqualsItsDefinitionForEveryHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double expected = DefinitionOfFloat16(half);
    const float value = Float16ToFloat(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

TEST(Float16, SurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = Float16ToFloat(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(Float16ToFloat(FloatToFloat16(value))));
    } else {
      ASSERT_EQ(FloatToFloat16(value), half);
    }
  }
}

TEST(Float16, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    const auto next = static_cast<uint16_t>(half + 1);
    // Exact: fp32 has 13 more bits.
    const float middle = (Float16ToFloat(half) + Float16ToFloat(next)) / 2;
    const uint16_t even = half % 2 == 0 ? half : next;
    ASSERT_EQ(FloatToFloat16(middle), even) << half;
    ASSERT_EQ(FloatToFloat16(std::nextafterf(middle, 0.0f)), half) << half;
    ASSERT_EQ(FloatToFloat16(std::nextafterf(middle, 1e9f)), next) << half;
    ASSERT_EQ(FloatToFloat16(-middle), even | 0x8000) << half;
    ASSERT_EQ(FloatToFloat16RoundUp(middle), next) << half;
    ASSERT_EQ(FloatToFloat16RoundUp(std::nextafterf(Float16ToFloat(half), 1e9f)), next) << half;
    ASSERT_EQ(FloatToFloat16RoundUp(Float16ToFloat(half)), half) << half;
  }
}

TEST(Float16, OverflowsToInfinityAt65520) {
  EXPECT_EQ(FloatToFloat16(kMaxFloat16), 0x7bff);
  EXPECT_EQ(FloatToFloat16(std::nextafterf(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(FloatToFloat16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToFloat16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(FloatToFloat16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(FloatToFloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7fff, 0x7e00);
  EXPECT_EQ(FloatToFloat16RoundUp(65505.0f), 0x7c00);
  EXPECT_EQ(FloatToFloat16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(FloatToFloat16RoundUp(std::numeric_limits<float>::denorm_min()), 1);
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsWhatIsExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto bfloat = static_cast<uint16_t>(bits);
    const float value = BFloat16ToFloat(bfloat);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(value))));
      continue;
    }
    ASSERT_EQ(FloatToBFloat16(value), bfloat);
    if (std::isinf(value)) {
      continue;
    }
    const uint32_t middle = (bits << 16) + 0x8000;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(FloatToBFloat16(std::bit_cast<float>(middle)), even);
    ASSERT_EQ(FloatToBFloat16(std::bit_cast<float>(middle - 1)), bits);
    ASSERT_EQ(FloatToBFloat16(std::bit_cast<float>(middle + 1)), bits + 1);
  }
}

}  // namespace
}  // namespace whinchat
