// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/paged_kv_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace whinchat {
namespace {

constexpr KvLayout kLayout = {
    KvDType::kInt8, /*num_layers=*/2, /*num_kv_heads=*/3, /*head_dim=*/16};

TEST(PagedKvCache, HeadsTileTheirBlockWithoutOverlap) {
  PagedKvCache cache(kLayout, 4);
  const std::byte* expected = cache.Block(0);
  for (BlockId block = 0; block < 4; ++block) {
    EXPECT_EQ(cache.Block(block), expected);
    for (int layer_idx = 0; layer_idx < 2; ++layer_idx) {
      for (int kv_head_idx = 0; kv_head_idx < 3; ++kv_head_idx) {
        EXPECT_EQ(cache.Head(block, layer_idx, kv_head_idx), expected);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(expected) % 64, 0U);
        expected += kLayout.HeadBytes();
      }
    }
  }
}

TEST(PagedKvCache, CopyBlockCopiesAllLayersAndNothingElse) {
  PagedKvCache cache(kLayout, 3);
  std::memset(cache.Block(0), 1, kLayout.BlockBytes());
  std::memset(cache.Block(1), 2, kLayout.BlockBytes());
  std::memset(cache.Block(2), 3, kLayout.BlockBytes());
  cache.CopyBlock(2, 1);
  EXPECT_EQ(std::memcmp(cache.Block(1), cache.Block(2), kLayout.BlockBytes()), 0);
  EXPECT_EQ(cache.Block(0)[kLayout.BlockBytes() - 1], std::byte{1});
  EXPECT_EQ(cache.Block(2)[0], std::byte{3});
}

TEST(PagedKvCache, MoreThanTheAddressSpaceIsAnError) {
  KvLayout huge = kLayout;
  huge.num_layers = 1000;
  huge.num_kv_heads = 1000;
  huge.head_dim = 256;
  try {
    PagedKvCache cache(huge, std::numeric_limits<int>::max());
    FAIL() << "granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_NE(error.message().find("KV cache"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace whinchat
