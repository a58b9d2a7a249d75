// SPDX-License-Identifier: Apache-2.0
// The block manager against what it promises, then against a naive cache of whole token lists.
#include "kv_cache/block_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "kv_cache/block_hash.h"
#include "tensor/kv_layout.h"

namespace whinchat {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<TokenId>;

Tokens Count(int num_tokens, TokenId first = 0) {
  Tokens tokens(static_cast<size_t>(num_tokens));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<BlockId> AllocateFor(BlockManager& manager, size_t num_tokens) {
  std::vector<BlockId> blocks;
  while (blocks.size() * kKvBlockTokens < num_tokens) {
    blocks.push_back(manager.Allocate().value());
  }
  return blocks;
}

std::vector<BlockId> Compute(BlockManager& manager, const Tokens& tokens, std::string_view salt) {
  std::vector<BlockId> blocks = AllocateFor(manager, tokens.size());
  manager.Register(tokens, blocks, salt);
  return blocks;
}

int NumMatched(const PrefixMatch& match) {
  return match.num_tokens + match.num_partial_tokens;
}

TEST(BlockManager, HandsOutEveryBlockOnceThenNothing) {
  BlockManager manager(5, /*enable_prefix_caching=*/true);
  std::vector<BlockId> blocks = AllocateFor(manager, 5 * kKvBlockTokens);
  std::ranges::sort(blocks);
  EXPECT_THAT(blocks, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(manager.Allocate(), std::nullopt);
  EXPECT_EQ(manager.NumUsed(), 5);
  manager.Free(blocks);
  EXPECT_EQ(manager.NumFree(), 5);
}

TEST(BlockManager, FindsFullBlocksOfAPrefixWhileTheyAreInUseAndAfter) {
  BlockManager manager(8, true);
  const std::vector<BlockId> blocks = Compute(manager, Count(70), "");
  for (const bool is_freed : {false, true}) {
    if (is_freed) {
      manager.Free(blocks);
    }
    const PrefixMatch match = manager.Match(Count(200), 199, "");
    EXPECT_THAT(match.blocks, ElementsAre(blocks[0], blocks[1]));
    EXPECT_EQ(match.num_tokens, 64);
    EXPECT_EQ(match.partial_block, blocks[2]);
    EXPECT_EQ(match.num_partial_tokens, 6);
    manager.Free(match.blocks);
  }
  EXPECT_EQ(manager.NumFree(), 8);
}

TEST(BlockManager, MatchStopsAtMaxTokensInsideAFullBlock) {
  BlockManager manager(8, true);
  const std::vector<BlockId> blocks = Compute(manager, Count(64), "");
  const PrefixMatch match = manager.Match(Count(64), 63, "");
  EXPECT_THAT(match.blocks, ElementsAre(blocks[0]));
  EXPECT_EQ(match.partial_block, blocks[1]);
  EXPECT_EQ(match.num_partial_tokens, 31);
}

TEST(BlockManager, APartialHitIsTheChildWithTheLongestCommonPrefix) {
  BlockManager manager(8, true);
  Tokens first = Count(32);
  Tokens second = Count(32);
  first[10] = 900;
  second[20] = 900;
  Compute(manager, first, "");
  const std::vector<BlockId> best = Compute(manager, second, "");
  Tokens third = Count(32);
  third[5] = 901;
  Compute(manager, third, "");
  const PrefixMatch match = manager.Match(Count(32), 31, "");
  EXPECT_TRUE(match.blocks.empty());
  EXPECT_EQ(match.partial_block, best[0]);
  EXPECT_EQ(match.num_partial_tokens, 20);
}

TEST(BlockManager, ASaltSeparatesCaches) {
  BlockManager manager(8, true);
  Compute(manager, Count(40), "alice");
  EXPECT_EQ(NumMatched(manager.Match(Count(40), 39, "bob")), 0);
  EXPECT_EQ(NumMatched(manager.Match(Count(40), 39, "")), 0);
  EXPECT_EQ(NumMatched(manager.Match(Count(40), 39, "alice")), 39);
}

TEST(BlockManager, WithoutPrefixCachingNothingIsFound) {
  BlockManager manager(8, /*enable_prefix_caching=*/false);
  Compute(manager, Count(64), "");
  EXPECT_EQ(NumMatched(manager.Match(Count(64), 63, "")), 0);
}

TEST(BlockManager, TheSameTokensAfterAnotherParentAreAnotherBlock) {
  BlockManager manager(8, true);
  Tokens a = Count(64);
  Tokens b = Count(64, 1000);
  std::copy_n(a.begin() + 32, 32, b.begin() + 32);
  const std::vector<BlockId> blocks_a = Compute(manager, a, "");
  const std::vector<BlockId> blocks_b = Compute(manager, b, "");
  EXPECT_EQ(manager.Match(a, 64, "").blocks, blocks_a);
  EXPECT_EQ(manager.Match(b, 64, "").blocks, blocks_b);
}

TEST(BlockManager, AGrowingBlockIsFoundWithWhatItHolds) {
  BlockManager manager(4, true);
  const std::vector<BlockId> blocks = AllocateFor(manager, 64);
  for (int num_tokens : {3, 17, 31, 32, 40, 64}) {
    manager.Register(Count(num_tokens), blocks, "");
    manager.CheckInvariants();
    const PrefixMatch match = manager.Match(Count(100), 100, "");
    EXPECT_EQ(NumMatched(match), num_tokens);
    manager.Free(match.blocks);
  }
}

TEST(BlockManager, LeastRecentlyUsedIsReusedFirstAndChildrenBeforeParents) {
  BlockManager manager(6, true);
  const std::vector<BlockId> oldest = Compute(manager, Count(96), "");
  const std::vector<BlockId> newest = Compute(manager, Count(96, 500), "");
  manager.Free(oldest);
  manager.Free(newest);
  EXPECT_EQ(manager.Allocate(), oldest[2]);
  EXPECT_EQ(manager.Allocate(), oldest[1]);
  EXPECT_EQ(manager.Match(Count(96), 96, "").num_tokens, 32);  // referenced: no longer a victim
  EXPECT_EQ(manager.Allocate(), newest[2]);
  manager.CheckInvariants();
}

TEST(BlockManager, BlocksWithoutContentAreReusedBeforeCachedOnes) {
  BlockManager manager(2, true);
  const std::vector<BlockId> cached = Compute(manager, Count(32), "");
  const std::vector<BlockId> unregistered = AllocateFor(manager, 32);
  manager.Free(cached);
  manager.Free(unregistered);
  EXPECT_EQ(manager.Allocate(), unregistered[0]);
  EXPECT_EQ(NumMatched(manager.Match(Count(32), 32, "")), 32);
}

// Two blocks below `parent` with the same hash: a first token after which the upper halves of the
// hash agree is found by the birthday paradox, the second token then cancels the lower halves.
std::pair<Tokens, Tokens> MakeCollision(int32_t parent) {
  std::map<uint64_t, TokenId> seen;  // upper half to first token
  std::mt19937 random(1);
  while (true) {
    const auto first = static_cast<TokenId>(random());
    const uint64_t hash = HashBlock(parent, std::vector<TokenId>{first});
    const auto [other, is_new] = seen.emplace(hash >> 32, first);
    if (is_new || other->second == first) {
      continue;
    }
    Tokens a = Count(kKvBlockTokens);
    Tokens b = a;
    a[0] = first;
    b[0] = other->second;
    const uint64_t other_hash = HashBlock(parent, std::vector<TokenId>{b[0]});
    b[1] = a[1] ^ static_cast<TokenId>(static_cast<uint32_t>(hash ^ other_hash));
    return {a, b};
  }
}

TEST(BlockManager, BlocksWithTheSameHashAreToldApartByTheirTokens) {
  constexpr int kNumBlocks = 4;
  const int32_t first_root = kNumBlocks;  // the node that stands for the first salt
  const auto [a, b] = MakeCollision(first_root);
  ASSERT_NE(a, b);
  ASSERT_EQ(HashBlock(first_root, a), HashBlock(first_root, b));
  BlockManager manager(kNumBlocks, true);
  const std::vector<BlockId> blocks_a = Compute(manager, a, "");
  EXPECT_TRUE(manager.Match(b, 32, "").blocks.empty());
  const std::vector<BlockId> blocks_b = Compute(manager, b, "");
  EXPECT_EQ(manager.Match(a, 32, "").blocks, blocks_a);
  EXPECT_EQ(manager.Match(b, 32, "").blocks, blocks_b);
  manager.CheckInvariants();
}

TEST(BlockManager, AMatchedBlockIsSharedAndOutlivesItsFirstOwner) {
  BlockManager manager(2, true);
  const std::vector<BlockId> blocks = Compute(manager, Count(32), "");
  const PrefixMatch match = manager.Match(Count(40), 39, "");
  manager.Free(blocks);
  EXPECT_EQ(manager.NumUsed(), 1);
  EXPECT_NE(manager.Allocate(), blocks[0]);
  EXPECT_EQ(manager.Allocate(), std::nullopt);
  manager.Free(match.blocks);
  EXPECT_EQ(manager.Allocate(), blocks[0]);
}

TEST(BlockManager, AParentTakenBeforeItsUsedChildTakesTheChildOutOfTheTree) {
  BlockManager manager(4, true);
  const std::vector<BlockId> first = Compute(manager, Count(32), "");
  const std::vector<BlockId> second = Compute(manager, Count(64), "");  // its child hangs on first
  manager.Free(first);
  EXPECT_EQ(manager.Match(Count(64), 64, "").num_tokens, 64);
  manager.Free(std::vector<BlockId>{first[0], second[1]});
  while (manager.Allocate()) {
    manager.CheckInvariants();
  }
  EXPECT_EQ(NumMatched(manager.Match(Count(64), 64, "")), 0);
  manager.Register(Count(64), second, "");
  EXPECT_EQ(manager.Match(Count(64), 64, "").blocks, second);
}

TEST(BlockManagerDeathTest, FreeingTwiceAborts) {
  BlockManager manager(2, true);
  const std::vector<BlockId> blocks = AllocateFor(manager, 32);
  manager.Free(blocks);
  EXPECT_DEATH(manager.Free(blocks), "check failed");
}

// Random owners over few blocks and a small alphabet, so that prefixes are often shared. `content`
// holds what each block's memory holds; every match must name blocks with exactly those tokens.
class RandomOwners {
 public:
  RandomOwners(int num_blocks, uint32_t seed)
      : random_(seed), manager_(num_blocks, true), content_(static_cast<size_t>(num_blocks)) {}

  void Act() {
    if (!owners_.empty() && random_() % 2 == 0) {
      Finish(random_() % owners_.size());
    } else {
      Start();
    }
    manager_.CheckInvariants();
    EXPECT_EQ(manager_.NumUsed(), NumOwned());
  }

  void FinishAll() {
    while (!owners_.empty()) {
      Finish(0);
    }
    manager_.CheckInvariants();
    EXPECT_EQ(manager_.NumUsed(), 0);
  }

  int num_hits() const { return num_hits_; }
  int num_partial_hits() const { return num_partial_hits_; }

 private:
  struct Owner {
    Tokens tokens;
    std::string salt;
    std::vector<BlockId> blocks;
  };

  // What a block's memory holds is keyed by the whole history: keys depend on all tokens before.
  static Tokens History(const Owner& owner, size_t num_tokens) {
    Tokens history(owner.tokens.begin(), owner.tokens.begin() + static_cast<long>(num_tokens));
    history.insert(history.begin(), owner.salt.empty() ? -1 : owner.salt[0]);
    return history;
  }

  void ExpectHolds(BlockId block, const Owner& owner, size_t num_tokens) {
    const Tokens expected = History(owner, num_tokens);
    const Tokens& actual = content_[static_cast<size_t>(block)];
    ASSERT_GE(actual.size(), expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin()));
  }

  void Start() {
    Owner owner;
    owner.salt = std::string(random_() % 3, 's').substr(0, 1);
    owner.tokens.resize(1 + random_() % 150);
    const size_t common = random_() % 140;
    for (size_t i = 0; i < owner.tokens.size(); ++i) {
      owner.tokens[i] =
          i < common ? static_cast<TokenId>(i % 7) : static_cast<TokenId>(random_() % 2);
    }
    const PrefixMatch match =
        manager_.Match(owner.tokens, static_cast<int>(owner.tokens.size()) - 1, owner.salt);
    for (size_t i = 0; i < match.blocks.size(); ++i) {
      ExpectHolds(match.blocks[i], owner, (i + 1) * kKvBlockTokens);
    }
    if (match.partial_block) {
      ExpectHolds(*match.partial_block, owner, static_cast<size_t>(NumMatched(match)));
    }
    num_hits_ += match.blocks.empty() ? 0 : 1;
    num_partial_hits_ += match.partial_block ? 1 : 0;
    owner.blocks = match.blocks;
    const size_t num_needed = (owner.tokens.size() + kKvBlockTokens - 1) / kKvBlockTokens;
    if (num_needed - owner.blocks.size() > static_cast<size_t>(manager_.NumFree())) {
      manager_.Free(owner.blocks);
      return;
    }
    while (owner.blocks.size() < num_needed) {
      owner.blocks.push_back(manager_.Allocate().value());
      const size_t end = std::min(owner.tokens.size(), owner.blocks.size() * kKvBlockTokens);
      content_[static_cast<size_t>(owner.blocks.back())] = History(owner, end);
    }
    RegisterSome(owner);
    owners_.push_back(std::move(owner));
  }

  void RegisterSome(const Owner& owner) {
    const Tokens computed(
        owner.tokens.begin(),
        owner.tokens.begin() + static_cast<long>(random_() % (owner.tokens.size() + 1)));
    manager_.Register(computed, owner.blocks, owner.salt);
  }

  void Finish(size_t idx) {
    const Owner owner = std::move(owners_[idx]);
    owners_.erase(owners_.begin() + static_cast<long>(idx));
    if (random_() % 4 != 0) {
      manager_.Register(owner.tokens, owner.blocks, owner.salt);
    }
    manager_.Free(owner.blocks);
  }

  int NumOwned() const {
    std::map<BlockId, int> owned;
    for (const Owner& owner : owners_) {
      for (const BlockId block : owner.blocks) {
        ++owned[block];
      }
    }
    return static_cast<int>(owned.size());
  }

  std::mt19937 random_;
  BlockManager manager_;
  std::vector<Tokens> content_;
  std::vector<Owner> owners_;
  int num_hits_ = 0;
  int num_partial_hits_ = 0;
};

TEST(BlockManager, RandomOwnersNeverFindWrongTokensAndLoseNoBlock) {
  int num_hits = 0;
  int num_partial_hits = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomOwners owners(6 + static_cast<int>(seed) * 3, seed);
    for (int i = 0; i < 500; ++i) {
      owners.Act();
    }
    owners.FinishAll();
    num_hits += owners.num_hits();
    num_partial_hits += owners.num_partial_hits();
  }
  EXPECT_GT(num_hits, 500);
  EXPECT_GT(num_partial_hits, 500);
}

}  // namespace
}  // namespace whinchat
