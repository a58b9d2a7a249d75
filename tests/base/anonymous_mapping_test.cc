// SPDX-License-Identifier: Apache-2.0
#include "base/anonymous_mapping.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"

namespace whinchat {
namespace {

TEST(AnonymousMapping, IsZeroedAlignedAndWritable) {
  AnonymousMapping mapping(100'000, "a test");
  ASSERT_EQ(mapping.size(), 100'000U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.data()) % 64, 0U);
  for (size_t i = 0; i < mapping.size(); ++i) {
    ASSERT_EQ(mapping.data()[i], std::byte{0});
  }
  mapping.data()[99'999] = std::byte{7};
  const AnonymousMapping moved = std::move(mapping);
  EXPECT_EQ(moved.data()[99'999], std::byte{7});
}

TEST(AnonymousMapping, NamesItsPurposeWhenTheSystemRefuses) {
  try {
    AnonymousMapping mapping(std::numeric_limits<size_t>::max() / 2, "the KV cache");
    FAIL() << "half of the address space was granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_NE(error.message().find("the KV cache"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace whinchat
