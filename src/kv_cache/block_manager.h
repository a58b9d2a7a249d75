// SPDX-License-Identifier: Apache-2.0
// Who owns which block of the paged KV cache. Blocks hold 32 tokens; full blocks are found again by
// the hash of everything up to and including them (prefix caching), and a partly equal next block
// can be copied from. Reference counted; freed blocks keep their content until reused, least
// recently used first. Engine thread only. Nothing is allocated after construction but map nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

using BlockId = int32_t;

// What a prefix lookup found for a prompt.
struct PrefixMatch {
  std::vector<BlockId> blocks;  // full blocks, referenced for the caller: release with Free
  int num_tokens = 0;           // tokens in `blocks`
  // A cached block whose first tokens continue the match: copy them into a block of one's own. It
  // is not referenced: copy right after the next Allocate, which may even return this very block
  // (its content is then already in place).
  std::optional<BlockId> partial_block;
  int num_partial_tokens = 0;
};

class BlockManager {
 public:
  BlockManager(int num_blocks, bool enable_prefix_caching);
  ~BlockManager();

  // A fresh block with one reference; nothing when all are in use.
  std::optional<BlockId> Allocate();
  // Gives back one reference of each. Cached content stays findable until the block is reused.
  void Free(std::span<const BlockId> blocks);

  // The longest cached prefix of `token_ids`, at most `max_tokens` of them. `salt` separates caches
  // of different users or adapters.
  PrefixMatch Match(std::span<const TokenId> token_ids, int max_tokens, std::string_view salt);

  // Makes the blocks of a sequence findable whose keys and values are computed for `token_ids`,
  // the last one too if it is partly filled. The caller holds the blocks and calls again with more
  // tokens as they fill. What another block already holds is not entered twice.
  void Register(std::span<const TokenId> token_ids,
                std::span<const BlockId> block_table,
                std::string_view salt);

  int num_blocks() const;
  int NumFree() const;  // allocatable now: free or cached without owner
  int NumUsed() const { return num_blocks() - NumFree(); }

  // Aborts if a block is both free and referenced, or the tree or a list is broken. For tests.
  void CheckInvariants() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
