// SPDX-License-Identifier: Apache-2.0
#include "engine/drafter.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/token_id.h"

namespace whinchat {
namespace {

// Shorter matches are mostly chance.
constexpr int kMinMatchLength = 2;

}  // namespace

int Drafter::Propose(std::span<const TokenId> token_ids, int max_tokens) {
  draft_.clear();
  for (const TokenId token_id : token_ids.subspan(static_cast<size_t>(automaton_.num_tokens()))) {
    automaton_.Append(token_id);
  }
  if (automaton_.match_length() < kMinMatchLength) {
    return 0;
  }
  const auto begin = static_cast<size_t>(automaton_.match_end());
  for (int i = 0; i < max_tokens; ++i) {
    const size_t source = begin + static_cast<size_t>(i);
    // A match that reaches the end is a period: the draft goes on by repeating itself.
    draft_.push_back(source < token_ids.size() ? token_ids[source]
                                               : draft_[source - token_ids.size()]);
  }
  return std::max(max_tokens, 0);
}

}  // namespace whinchat
