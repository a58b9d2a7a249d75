// SPDX-License-Identifier: Apache-2.0
// Lookup speculation for one sequence: the tokens that followed its longest repeated suffix the
// last time may follow again. Whoever verifies them decides; nothing here changes an answer.
#pragma once

#include <span>
#include <vector>

#include "base/token_id.h"
#include "engine/suffix_automaton.h"

namespace whinchat {

class Drafter {
 public:
  // Drafts up to `max_tokens` tokens to follow `token_ids`, the sequence as it is now: it begins
  // with what the last call was given. Returns how many.
  int Propose(std::span<const TokenId> token_ids, int max_tokens);

  std::span<const TokenId> draft() const { return draft_; }

 private:
  SuffixAutomaton automaton_;
  std::vector<TokenId> draft_;
};

}  // namespace whinchat
