// SPDX-License-Identifier: Apache-2.0
// The prefix cache is a tree of blocks: a child holds the tokens that follow its parent's, and each
// salt has a root of its own. A full block is found by a hash of (parent, tokens); its tokens are
// then compared, so a collision costs time and never a wrong answer. Blocks without an owner stand
// in one list, next victim first; a parent is taken only after its children. Nodes are arrays
// indexed by BlockId; the bytes of the blocks are PagedKvCache's.
#include "kv_cache/block_manager.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "kv_cache/block_hash.h"
#include "tensor/kv_layout.h"

namespace whinchat {
namespace {

using NodeId = int32_t;  // a BlockId, or num_blocks + i for the root of a salt
constexpr NodeId kNoNode = -1;

// Children looked at for a partial hit, newest first: bounds a lookup below a popular prefix.
constexpr int kMaxPartialCandidates = 64;

struct Node {
  int ref_count = 0;
  bool is_free = false;          // in the free list
  int num_tokens = 0;            // known content; 0: not in the tree
  NodeId parent = kNoNode;       // kNoNode: not in the tree
  NodeId first_child = kNoNode;  // newest first
  NodeId next_sibling = kNoNode;
  NodeId previous_sibling = kNoNode;
  NodeId next_free = kNoNode;
  NodeId previous_free = kNoNode;
  uint64_t hash = 0;  // of parent and tokens, while the block is full
  std::array<TokenId, kKvBlockTokens> tokens = {};
};

int CommonPrefixLength(const Node& node, std::span<const TokenId> tokens) {
  const auto end = node.tokens.begin() + std::min(node.num_tokens, static_cast<int>(tokens.size()));
  return static_cast<int>(std::mismatch(node.tokens.begin(), end, tokens.begin()).first -
                          node.tokens.begin());
}

}  // namespace

struct BlockManager::State {
  int num_blocks = 0;
  bool enable_prefix_caching = false;
  std::vector<Node> nodes;           // [num_blocks] blocks, then [num_blocks] roots of salts
  std::vector<NodeId> unused_roots;  // every root in use has a child, so num_blocks are enough
  std::vector<std::string_view> root_salts;  // [num_blocks] keys of `roots`
  std::unordered_map<std::string, NodeId> roots;
  std::unordered_multimap<uint64_t, NodeId> full_blocks;  // by Node::hash
  NodeId first_free = kNoNode;                            // reused next
  NodeId last_free = kNoNode;
  int num_free = 0;

  Node& At(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  const Node& At(NodeId id) const { return nodes[static_cast<size_t>(id)]; }

  void PushFree(NodeId id);
  void RemoveFree(NodeId id);
  NodeId TakeVictim();

  NodeId FindRoot(std::string_view salt) const;
  NodeId FindOrAddRoot(std::string_view salt);
  void RemoveRoot(NodeId root);

  NodeId FindFullChild(NodeId parent, std::span<const TokenId> tokens) const;
  bool HasChildStartingWith(NodeId parent, std::span<const TokenId> tokens) const;
  void MatchPartial(NodeId parent, std::span<const TokenId> tokens, PrefixMatch* match);
  void Insert(NodeId id, NodeId parent, std::span<const TokenId> tokens);
  void Extend(NodeId id, std::span<const TokenId> tokens);
  void Remove(NodeId id);
  void RemoveSubtree(NodeId id);
  void ForgetHash(NodeId id);

  void CheckFreeList() const;
  void CheckTree() const;
};

// Blocks without content are reused first, then the cached ones in the order they were freed.
void BlockManager::State::PushFree(NodeId id) {
  Node& node = At(id);
  const bool is_cached = node.parent != kNoNode;
  node.is_free = true;
  node.previous_free = is_cached ? last_free : kNoNode;
  node.next_free = is_cached ? kNoNode : first_free;
  (node.previous_free == kNoNode ? first_free : At(node.previous_free).next_free) = id;
  (node.next_free == kNoNode ? last_free : At(node.next_free).previous_free) = id;
  ++num_free;
}

void BlockManager::State::RemoveFree(NodeId id) {
  Node& node = At(id);
  (node.previous_free == kNoNode ? first_free : At(node.previous_free).next_free) = node.next_free;
  (node.next_free == kNoNode ? last_free : At(node.next_free).previous_free) = node.previous_free;
  node.next_free = node.previous_free = kNoNode;
  node.is_free = false;
  --num_free;
}

// The oldest free block, or the deepest free block below it. A child that is in use although its
// parent is not (its owner computed the same prefix in blocks of its own) leaves the tree.
NodeId BlockManager::State::TakeVictim() {
  NodeId victim = first_free;
  while (At(victim).first_child != kNoNode) {
    const NodeId child = At(victim).first_child;
    if (At(child).is_free) {
      victim = child;
    } else {
      RemoveSubtree(child);
    }
  }
  if (At(victim).parent != kNoNode) {
    Remove(victim);
  }
  RemoveFree(victim);
  return victim;
}

NodeId BlockManager::State::FindRoot(std::string_view salt) const {
  const auto found = roots.find(std::string(salt));
  return found == roots.end() ? kNoNode : found->second;
}

NodeId BlockManager::State::FindOrAddRoot(std::string_view salt) {
  if (const NodeId root = FindRoot(salt); root != kNoNode) {
    return root;
  }
  const NodeId root = unused_roots.back();
  const auto added = roots.emplace(salt, root).first;
  unused_roots.pop_back();
  root_salts[static_cast<size_t>(root - num_blocks)] = added->first;
  return root;
}

void BlockManager::State::RemoveRoot(NodeId root) {
  std::string_view& salt = root_salts[static_cast<size_t>(root - num_blocks)];
  roots.erase(roots.find(std::string(salt)));
  salt = {};
  unused_roots.push_back(root);
}

NodeId BlockManager::State::FindFullChild(NodeId parent, std::span<const TokenId> tokens) const {
  const auto [begin, end] = full_blocks.equal_range(HashBlock(parent, tokens));
  for (auto it = begin; it != end; ++it) {
    const Node& node = At(it->second);
    if (node.parent == parent && std::ranges::equal(node.tokens, tokens)) {
      return it->second;
    }
  }
  return kNoNode;
}

bool BlockManager::State::HasChildStartingWith(NodeId parent,
                                               std::span<const TokenId> tokens) const {
  int num_seen = 0;
  for (NodeId id = At(parent).first_child; id != kNoNode && num_seen < kMaxPartialCandidates;
       id = At(id).next_sibling, ++num_seen) {
    if (CommonPrefixLength(At(id), tokens) == static_cast<int>(tokens.size())) {
      return true;
    }
  }
  return false;
}

void BlockManager::State::MatchPartial(NodeId parent,
                                       std::span<const TokenId> tokens,
                                       PrefixMatch* match) {
  int num_seen = 0;
  for (NodeId id = At(parent).first_child; id != kNoNode && num_seen < kMaxPartialCandidates;
       id = At(id).next_sibling, ++num_seen) {
    const int length = CommonPrefixLength(At(id), tokens);
    if (length > match->num_partial_tokens) {
      match->num_partial_tokens = length;
      match->partial_block = id;
    }
  }
  if (match->partial_block && At(*match->partial_block).is_free) {  // used: now the youngest
    RemoveFree(*match->partial_block);
    PushFree(*match->partial_block);
  }
}

void BlockManager::State::Insert(NodeId id, NodeId parent, std::span<const TokenId> tokens) {
  Node& node = At(id);
  const NodeId next = At(parent).first_child;
  node.parent = parent;
  node.previous_sibling = kNoNode;
  node.next_sibling = next;
  if (next != kNoNode) {
    At(next).previous_sibling = id;
  }
  At(parent).first_child = id;
  Extend(id, tokens);
}

// Gives a block that is in the tree more of its content; nothing to do if it has more already.
void BlockManager::State::Extend(NodeId id, std::span<const TokenId> tokens) {
  Node& node = At(id);
  const int num_common = CommonPrefixLength(node, tokens);
  WHINCHAT_CHECK(num_common == std::min(node.num_tokens, static_cast<int>(tokens.size())));
  if (num_common == static_cast<int>(tokens.size())) {
    return;
  }
  node.num_tokens = static_cast<int>(tokens.size());
  std::ranges::copy(tokens, node.tokens.begin());
  if (node.num_tokens == kKvBlockTokens) {
    node.hash = HashBlock(node.parent, tokens);
    full_blocks.emplace(node.hash, id);
  }
}

// Takes a block without children out of the tree; its root goes with the last child.
void BlockManager::State::Remove(NodeId id) {
  Node& node = At(id);
  WHINCHAT_CHECK(node.parent != kNoNode && node.first_child == kNoNode);
  ForgetHash(id);
  const NodeId parent = node.parent;
  (node.previous_sibling == kNoNode ? At(parent).first_child
                                    : At(node.previous_sibling).next_sibling) = node.next_sibling;
  if (node.next_sibling != kNoNode) {
    At(node.next_sibling).previous_sibling = node.previous_sibling;
  }
  node.parent = node.next_sibling = node.previous_sibling = kNoNode;
  node.num_tokens = 0;
  if (parent >= num_blocks && At(parent).first_child == kNoNode) {
    RemoveRoot(parent);
  }
}

// Takes `id` and all below it out of the tree, deepest first. Free ones become plain free blocks.
void BlockManager::State::RemoveSubtree(NodeId id) {
  NodeId current = id;
  while (true) {
    while (At(current).first_child != kNoNode) {
      current = At(current).first_child;
    }
    const NodeId parent = At(current).parent;
    Remove(current);
    if (At(current).is_free) {
      RemoveFree(current);
      PushFree(current);
    }
    if (current == id) {
      return;
    }
    current = parent;
  }
}

void BlockManager::State::ForgetHash(NodeId id) {
  if (At(id).num_tokens < kKvBlockTokens) {
    return;
  }
  const auto [begin, end] = full_blocks.equal_range(At(id).hash);
  full_blocks.erase(std::find_if(begin, end, [id](const auto& item) { return item.second == id; }));
}

BlockManager::BlockManager(int num_blocks, bool enable_prefix_caching)
    : state_(std::make_unique<State>()) {
  WHINCHAT_CHECK(num_blocks >= 0);
  State& state = *state_;
  state.num_blocks = num_blocks;
  state.enable_prefix_caching = enable_prefix_caching;
  state.nodes.resize(2 * static_cast<size_t>(num_blocks));
  state.root_salts.resize(static_cast<size_t>(num_blocks));
  state.unused_roots.reserve(static_cast<size_t>(num_blocks));
  state.full_blocks.reserve(static_cast<size_t>(num_blocks));
  for (NodeId id = num_blocks - 1; id >= 0; --id) {  // so that block 0 is taken first
    state.PushFree(id);
    state.unused_roots.push_back(num_blocks + id);
  }
}

BlockManager::~BlockManager() = default;

std::optional<BlockId> BlockManager::Allocate() {
  if (state_->num_free == 0) {
    return std::nullopt;
  }
  const NodeId id = state_->TakeVictim();
  state_->At(id).ref_count = 1;
  return id;
}

void BlockManager::Free(std::span<const BlockId> blocks) {
  for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {  // the deepest becomes the oldest
    WHINCHAT_CHECK(*it >= 0 && *it < state_->num_blocks);
    Node& node = state_->At(*it);
    WHINCHAT_CHECK(node.ref_count > 0);
    if (--node.ref_count == 0) {
      state_->PushFree(*it);
    }
  }
}

PrefixMatch BlockManager::Match(std::span<const TokenId> token_ids,
                                int max_tokens,
                                std::string_view salt) {
  PrefixMatch match;
  NodeId parent = state_->enable_prefix_caching ? state_->FindRoot(salt) : kNoNode;
  if (parent == kNoNode || max_tokens <= 0) {
    return match;
  }
  auto rest = token_ids.first(std::min(token_ids.size(), static_cast<size_t>(max_tokens)));
  while (rest.size() >= kKvBlockTokens) {
    const NodeId id = state_->FindFullChild(parent, rest.first(kKvBlockTokens));
    if (id == kNoNode) {
      break;
    }
    Node& node = state_->At(id);
    if (node.ref_count++ == 0) {
      state_->RemoveFree(id);
    }
    match.blocks.push_back(id);
    rest = rest.subspan(kKvBlockTokens);
    parent = id;
  }
  match.num_tokens = static_cast<int>(match.blocks.size()) * kKvBlockTokens;
  state_->MatchPartial(
      parent, rest.first(std::min(rest.size(), static_cast<size_t>(kKvBlockTokens))), &match);
  return match;
}

void BlockManager::Register(std::span<const TokenId> token_ids,
                            std::span<const BlockId> block_table,
                            std::string_view salt) {
  State& state = *state_;
  if (!state.enable_prefix_caching || token_ids.empty()) {
    return;
  }
  WHINCHAT_CHECK(block_table.size() * kKvBlockTokens >= token_ids.size());
  NodeId parent = state.FindOrAddRoot(salt);
  for (size_t i = 0; i * kKvBlockTokens < token_ids.size(); ++i) {
    const auto rest = token_ids.subspan(i * kKvBlockTokens);
    const auto tokens = rest.first(std::min(rest.size(), static_cast<size_t>(kKvBlockTokens)));
    const bool is_full = tokens.size() == kKvBlockTokens;
    const NodeId known = is_full ? state.FindFullChild(parent, tokens) : kNoNode;
    const BlockId id = block_table[i];
    if (known == id) {
      parent = known;
      continue;
    }
    WHINCHAT_CHECK(state.At(id).ref_count > 0);
    const bool is_registered = state.At(id).parent != kNoNode;
    if (is_registered && known != kNoNode) {
      state.Remove(id);  // it held fewer tokens before; now it equals another block
    } else if (is_registered) {
      state.Extend(id, tokens);
    } else if (known == kNoNode && (is_full || !state.HasChildStartingWith(parent, tokens))) {
      state.Insert(id, parent, tokens);
    }
    parent = known == kNoNode ? id : known;
  }
}

void BlockManager::State::CheckFreeList() const {
  int num_listed = 0;
  NodeId previous = kNoNode;
  for (NodeId id = first_free; id != kNoNode; previous = id, id = At(id).next_free) {
    WHINCHAT_CHECK(At(id).is_free && At(id).ref_count == 0 && At(id).previous_free == previous);
    WHINCHAT_CHECK(++num_listed <= num_free);
  }
  WHINCHAT_CHECK(num_listed == num_free && previous == last_free);
  for (NodeId id = 0; id < num_blocks; ++id) {
    WHINCHAT_CHECK(At(id).is_free == (At(id).ref_count == 0));
  }
}

void BlockManager::State::CheckTree() const {
  size_t num_children = 0;
  size_t num_in_tree = 0;
  size_t num_full = 0;
  for (NodeId id = 0; id < 2 * num_blocks; ++id) {
    const Node& node = At(id);
    const bool is_full = node.num_tokens == kKvBlockTokens;
    WHINCHAT_CHECK((node.parent == kNoNode) == (node.num_tokens == 0));
    WHINCHAT_CHECK(id >= num_blocks || is_full || node.first_child == kNoNode);
    WHINCHAT_CHECK(!is_full || FindFullChild(node.parent, node.tokens) == id);
    num_in_tree += node.parent == kNoNode ? 0 : 1;
    num_full += is_full ? 1 : 0;
    NodeId previous = kNoNode;
    for (NodeId child = node.first_child; child != kNoNode; child = At(child).next_sibling) {
      WHINCHAT_CHECK(At(child).parent == id && At(child).previous_sibling == previous);
      WHINCHAT_CHECK(++num_children <= static_cast<size_t>(num_blocks));
      previous = child;
    }
  }
  WHINCHAT_CHECK(num_children == num_in_tree && num_full == full_blocks.size());
  WHINCHAT_CHECK(roots.size() + unused_roots.size() == static_cast<size_t>(num_blocks));
  for (const auto& [salt, root] : roots) {
    WHINCHAT_CHECK(At(root).first_child != kNoNode);
  }
}

void BlockManager::CheckInvariants() const {
  state_->CheckFreeList();
  state_->CheckTree();
}

int BlockManager::num_blocks() const {
  return state_->num_blocks;
}
int BlockManager::NumFree() const {
  return state_->num_free;
}

}  // namespace whinchat
