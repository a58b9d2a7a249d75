// SPDX-License-Identifier: Apache-2.0
// The hash by which a full block is looked up below its parent. It need only spread: whoever finds
// a block by it compares the tokens. Apart from block_manager.cc so that a test can make two blocks
// collide.
#pragma once

#include <cstdint>
#include <span>

#include "base/token_id.h"

namespace whinchat {

inline uint64_t HashBlock(int32_t parent, std::span<const TokenId> tokens) {
  uint64_t hash = (static_cast<uint64_t>(static_cast<uint32_t>(parent)) + 1) * 0x9E3779B97F4A7C15U;
  for (const TokenId token : tokens) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0xD6E8FEB86659FD93U;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace whinchat
