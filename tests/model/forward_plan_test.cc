// SPDX-License-Identifier: Apache-2.0
#include "model/forward_plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace whinchat {
namespace {

std::vector<BlockId> Blocks(int count) {
  std::vector<BlockId> blocks(static_cast<size_t>(count));
  std::iota(blocks.begin(), blocks.end(), 100);
  return blocks;
}

TEST(ForwardPlan, RowsKnowTheirPositionBlockAndSlot) {
  const std::vector<TokenId> tokens = {5, 6, 7};
  const std::vector<BlockId> blocks = Blocks(3);
  ForwardPlan plan;
  plan.Reserve(8, 32);
  plan.Build({{{tokens, 63, blocks, 1}}});
  ASSERT_EQ(plan.num_rows(), 3);
  EXPECT_EQ(plan.rows()[0].position, 63);
  EXPECT_EQ(plan.rows()[0].block_id, 101);
  EXPECT_EQ(plan.rows()[0].slot, 31);
  EXPECT_EQ(plan.rows()[1].block_id, 102);
  EXPECT_EQ(plan.rows()[1].slot, 0);
  EXPECT_EQ(plan.rows()[2].token_id, 7);
  EXPECT_EQ(plan.num_positions(), 66);
  EXPECT_EQ(plan.logit_rows(), std::vector<int>{2});
}

TEST(ForwardPlan, LogitRowsFollowTheChunksOrder) {
  const std::vector<TokenId> tokens = {1, 2, 3, 4};
  const std::vector<BlockId> blocks = Blocks(2);
  ForwardPlan plan;
  plan.Reserve(16, 32);
  plan.Build({{{tokens, 0, blocks, 4}, {tokens, 9, blocks, 0}, {tokens, 20, blocks, 2}}});
  EXPECT_EQ(plan.logit_rows(), (std::vector<int>{0, 1, 2, 3, 10, 11}));
}

TEST(ForwardPlan, TilesCoverEveryRowOnceAndCrossNoSpan) {
  const std::vector<TokenId> tokens(700, 1);
  const std::vector<BlockId> blocks = Blocks(40);
  for (const int tile_tokens : {1, 4, 32, 64}) {
    for (const int start : {0, 1, 31, 250, 255, 256, 300}) {
      ForwardPlan plan;
      plan.Reserve(1000, tile_tokens);
      plan.Build({{{tokens, start, blocks, 1}}});
      int row = 0;
      size_t num_partials = 0;
      for (const QueryTile& tile : plan.tiles()) {
        EXPECT_EQ(tile.row_begin, row);
        EXPECT_EQ(tile.position, start + row);
        EXPECT_EQ(tile.partial_begin, num_partials);
        ASSERT_GE(tile.num_rows, 1);
        ASSERT_LE(tile.num_rows, tile_tokens);
        const int last = tile.position + tile.num_rows - 1;
        EXPECT_EQ(tile.position / kAttentionSpanTokens, last / kAttentionSpanTokens);
        EXPECT_EQ(tile.NumSpans(), last / kAttentionSpanTokens + 1);
        num_partials += static_cast<size_t>(tile.NumSpans() * tile.num_rows);
        row += tile.num_rows;
      }
      EXPECT_EQ(row, 700);
      EXPECT_EQ(plan.num_partials(), num_partials);
    }
  }
}

TEST(ForwardPlanDeathTest, BlockTableThatIsTooShortIsABrokenInvariant) {
  const std::vector<TokenId> tokens(33, 1);
  const std::vector<BlockId> blocks = Blocks(1);
  ForwardPlan plan;
  plan.Reserve(64, 32);
  EXPECT_DEATH(plan.Build({{{tokens, 0, blocks, 1}}}), "block_table");
}

}  // namespace
}  // namespace whinchat
