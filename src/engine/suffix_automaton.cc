// SPDX-License-Identifier: Apache-2.0
// Edges stand in one hash table, for a vocabulary of 150,000 allows no array a state; a list a
// state lets a clone copy them.
#include "engine/suffix_automaton.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/token_id.h"

namespace whinchat {
namespace {

constexpr size_t kFirstSlots = 64;  // a power of two, as all sizes of the table

uint64_t HashEdge(int32_t from, TokenId token) {
  const uint64_t key =
      (static_cast<uint64_t>(static_cast<uint32_t>(from)) << 32) | static_cast<uint32_t>(token);
  const uint64_t hash = key * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32);
}

}  // namespace

SuffixAutomaton::SuffixAutomaton() : states_(1), slots_(kFirstSlots, -1) {}

void SuffixAutomaton::Append(TokenId token) {
  ++num_tokens_;
  const int32_t whole = AddState({.length = num_tokens_, .link = 0, .end = num_tokens_});
  int32_t state = last_;
  Edge* edge = nullptr;
  while (state >= 0 && (edge = FindEdge(state, token)) == nullptr) {
    AddEdge(state, token, whole);
    state = states_[static_cast<size_t>(state)].link;
  }
  const int32_t link = edge == nullptr ? 0 : LinkFor(state, token, edge);
  states_[static_cast<size_t>(whole)].link = link;
  last_ = whole;
  State& match = states_[static_cast<size_t>(link)];
  match_length_ = match.length;
  match_end_ = match.end;
  match.end = num_tokens_;
}

std::vector<TokenId> SuffixAutomaton::ProposeNext(std::span<const TokenId> tokens,
                                                  int max_tokens) const {
  WHINCHAT_CHECK(tokens.size() == static_cast<size_t>(num_tokens_));
  std::vector<TokenId> proposed;
  if (match_length_ == 0) {
    return proposed;
  }
  for (auto i = static_cast<size_t>(match_end_); std::ssize(proposed) < max_tokens; ++i) {
    proposed.push_back(i < tokens.size() ? tokens[i] : proposed[i - tokens.size()]);
  }
  return proposed;
}

// The state that `token` leads to from `state`, for the substring of `state` alone: where longer
// substrings share it, it is split, and the clone gets the short ones.
int32_t SuffixAutomaton::LinkFor(int32_t state, TokenId token, Edge* edge) {
  const int32_t target = edge->to;
  const State shared = states_[static_cast<size_t>(target)];
  const int32_t length = states_[static_cast<size_t>(state)].length + 1;
  if (shared.length == length) {
    return target;
  }
  const int32_t clone = AddState({.length = length, .link = shared.link, .end = shared.end});
  states_[static_cast<size_t>(target)].link = clone;
  while (edge != nullptr && edge->to == target) {
    edge->to = clone;
    state = states_[static_cast<size_t>(state)].link;
    edge = state < 0 ? nullptr : FindEdge(state, token);
  }
  for (int32_t i = shared.first_edge; i >= 0; i = edges_[static_cast<size_t>(i)].next) {
    const Edge copied = edges_[static_cast<size_t>(i)];
    AddEdge(clone, copied.token, copied.to);
  }
  return clone;
}

int32_t SuffixAutomaton::AddState(const State& state) {
  states_.push_back(state);
  return static_cast<int32_t>(states_.size() - 1);
}

SuffixAutomaton::Edge* SuffixAutomaton::FindEdge(int32_t from, TokenId token) {
  const int32_t edge_idx = slots_[FindSlot(from, token)];
  return edge_idx < 0 ? nullptr : &edges_[static_cast<size_t>(edge_idx)];
}

void SuffixAutomaton::AddEdge(int32_t from, TokenId token, int32_t to) {
  if ((edges_.size() + 1) * 4 > slots_.size() * 3) {
    GrowSlots();
  }
  State& state = states_[static_cast<size_t>(from)];
  const auto edge_idx = static_cast<int32_t>(edges_.size());
  edges_.push_back({.from = from, .token = token, .to = to, .next = state.first_edge});
  state.first_edge = edge_idx;
  slots_[FindSlot(from, token)] = edge_idx;
}

// The edge's slot, or the free one where it belongs.
size_t SuffixAutomaton::FindSlot(int32_t from, TokenId token) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = HashEdge(from, token) & mask;
  for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const Edge& edge = edges_[static_cast<size_t>(slots_[slot])];
    if (edge.from == from && edge.token == token) {
      break;
    }
  }
  return slot;
}

void SuffixAutomaton::GrowSlots() {
  slots_.assign(slots_.size() * 2, -1);
  for (size_t i = 0; i < edges_.size(); ++i) {
    slots_[FindSlot(edges_[i].from, edges_[i].token)] = static_cast<int32_t>(i);
  }
}

size_t SuffixAutomaton::MemoryBytes() const {
  return states_.capacity() * sizeof(State) + edges_.capacity() * sizeof(Edge) +
         slots_.capacity() * sizeof(int32_t);
}

}  // namespace whinchat
