// SPDX-License-Identifier: Apache-2.0
// What followed the last time: the longest suffix of a growing token sequence that has occurred
// before, kept up to date in amortised O(1) a token by the online suffix automaton (Blumer et al.,
// 1985). A state stands for the substrings that end at the same places; the suffix link of the
// state of the whole sequence is its longest repeated suffix. The tokens themselves stay with the
// caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

class SuffixAutomaton {
 public:
  // Bound of MemoryBytes() beyond a constant: 2 states and 3 edges a token, vectors and hash table
  // at most twice as large as what they hold. Text needs about half of it.
  static constexpr size_t kMaxBytesPerToken = 208;

  SuffixAutomaton();

  void Append(TokenId token);

  int num_tokens() const { return num_tokens_; }

  // Length of the longest suffix that also ends earlier; the two may overlap. 0: there is none.
  int match_length() const { return match_length_; }
  // Index of the token that followed the suffix there: the latest place where it was the longest
  // match itself, else an earlier one. Precondition: match_length() > 0.
  int match_end() const { return match_end_; }

  // What followed there, as a guess of what comes next: up to `max_tokens` of `tokens`, which are
  // all that was appended. A guess that reaches their end goes on with its own tokens, so a text
  // that repeats itself is guessed to go on doing so. Empty without a match.
  std::vector<TokenId> ProposeNext(std::span<const TokenId> tokens, int max_tokens) const;

  int num_states() const { return static_cast<int>(states_.size()); }
  int num_edges() const { return static_cast<int>(edges_.size()); }
  size_t MemoryBytes() const;

 private:
  struct State {
    int32_t length = 0;  // of its longest substring
    int32_t link = -1;   // the state of that substring's longest suffix which ends elsewhere too
    int32_t end = 0;     // where it ended, one of the places: index behind the last token
    int32_t first_edge = -1;  // into edges_
  };
  struct Edge {
    int32_t from = 0;
    TokenId token = 0;
    int32_t to = 0;
    int32_t next = -1;  // of the same state
  };

  int32_t AddState(const State& state);
  // Null if the state has no such edge. Valid until the next AddEdge.
  Edge* FindEdge(int32_t from, TokenId token);
  void AddEdge(int32_t from, TokenId token, int32_t to);
  size_t FindSlot(int32_t from, TokenId token) const;
  void GrowSlots();
  int32_t LinkFor(int32_t state, TokenId token, Edge* edge);

  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<int32_t> slots_;  // hash table of edges_ by (from, token), linear probing; -1: free
  int32_t last_ = 0;            // the state of the whole sequence
  int num_tokens_ = 0;
  int match_length_ = 0;
  int match_end_ = 0;
};

}  // namespace whinchat
