// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_pair_encoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/token_id.h"
#include "tokenizer/char_pair_filter.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

BytePairEncoder::BytePairEncoder(const TokenizerSpec& spec)
    : tokens_(spec.vocab.size()),
      merges_(spec.merges.size()),
      unk_token_id_(spec.unk_token_id),
      fuse_unk_(spec.fuse_unk),
      ignore_merges_(spec.ignore_merges) {
  AddTokens(spec);
  AddMerges(spec);
  MarkMergedTokens(spec);
}

void BytePairEncoder::AddTokens(const TokenizerSpec& spec) {
  // Of two ids with the same bytes the one that is no added token is the one BPE knows.
  std::vector<bool> is_added(spec.vocab.size(), false);
  for (const AddedToken& token : spec.added_tokens) {
    if (static_cast<size_t>(token.id) < is_added.size()) {
      is_added[static_cast<size_t>(token.id)] = true;
    }
  }
  for (const bool wants_added : {false, true}) {
    for (size_t id = 0; id < spec.vocab.size(); ++id) {
      if (is_added[id] == wants_added && !spec.vocab[id].empty()) {
        tokens_.Insert(spec.vocab[id], static_cast<TokenId>(id));
        char_pairs_.AddToken(spec.vocab[id]);
      }
    }
  }
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char character = static_cast<char>(byte);
    byte_tokens_[byte] = FindToken({&character, 1}).value_or(kNoToken);
  }
  has_all_bytes_ = std::ranges::find(byte_tokens_, kNoToken) == byte_tokens_.end();
}

void BytePairEncoder::AddMerges(const TokenizerSpec& spec) {
  std::string product;
  std::vector<MergeTable::Entry> merges;
  merges.reserve(spec.merges.size());
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    const auto find = [&](const std::string& bytes) {
      const std::optional<TokenId> id = FindToken(bytes);
      if (!id) {
        ThrowError(ErrorCode::kCorruptFile,
                   "tokenizer: merge {} ('{}' + '{}') names '{}', which is not in the vocabulary",
                   rank,
                   left,
                   right,
                   bytes);
      }
      return static_cast<uint32_t>(*id);
    };
    product.assign(left).append(right);
    const uint32_t left_id = find(left);
    const uint32_t right_id = find(right);
    const MergeTable::Merge merge = {.rank = static_cast<uint32_t>(rank), .product = find(product)};
    merges_.Insert(left_id, right_id, merge);
    merges.push_back({.left = left_id, .right = right_id, .merge = merge});
  }
  CheckMergeOrder(merges, spec.vocab.size());
}

void BytePairEncoder::CheckMergeOrder(const std::vector<MergeTable::Entry>& merges,
                                      size_t num_tokens) {
  std::vector<uint32_t> lowest_use(num_tokens, MergeTable::kNoRank);
  for (const MergeTable::Entry& entry : merges) {
    for (const uint32_t part : {entry.left, entry.right}) {
      lowest_use[part] = std::min(lowest_use[part], entry.merge.rank);
    }
  }
  has_ordered_merges_ = std::ranges::all_of(merges, [&](const MergeTable::Entry& entry) {
    return entry.merge.rank < lowest_use[entry.merge.product];
  });
}

// A token may stand in the vocabulary and yet be out of reach of its own merges.
void BytePairEncoder::MarkMergedTokens(const TokenizerSpec& spec) {
  std::vector<TokenId> ids;
  for (const std::string& bytes : spec.vocab) {
    if (bytes.empty()) {
      continue;
    }
    ids.clear();
    MergeWord(bytes, ids);
    if (ids.size() == 1 && ids[0] == FindToken(bytes)) {
      tokens_.MarkMerged(bytes);
    }
  }
}

std::optional<TokenId> BytePairEncoder::FindToken(std::string_view bytes) const {
  if (bytes.empty()) {
    return std::nullopt;
  }
  const std::optional<TokenTable::Entry> entry = tokens_.Find(bytes);
  return entry ? std::optional<TokenId>(entry->id) : std::nullopt;
}

void BytePairEncoder::Encode(std::string_view word, std::vector<TokenId>& ids) const {
  if (word.size() <= tokens_.max_token_bytes()) {
    const std::optional<TokenTable::Entry> entry = tokens_.Find(word);
    if (entry && (entry->is_merged || ignore_merges_)) {
      ids.push_back(entry->id);
      return;
    }
  }
  // Bytes that vanish would bring others together over a cut.
  if (!has_all_bytes_ && !HasOnlyTokenBytes(word)) {
    MergeWord(word, ids);
    return;
  }
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = char_pairs_.FindCut(word, begin);
    EncodePiece(word.substr(begin, end - begin), ids);
    begin = end;
  }
}

bool BytePairEncoder::HasOnlyTokenBytes(std::string_view word) const {
  return std::ranges::all_of(
      word, [this](char c) { return byte_tokens_[static_cast<uint8_t>(c)] != kNoToken; });
}

void BytePairEncoder::EncodePiece(std::string_view piece, std::vector<TokenId>& ids) const {
  if (piece.size() <= tokens_.max_token_bytes()) {
    const std::optional<TokenTable::Entry> entry = tokens_.Find(piece);
    if (entry && entry->is_merged) {
      ids.push_back(entry->id);
      return;
    }
  }
  std::array<uint32_t, kMaxScannedSymbols> few_symbols;
  std::vector<uint32_t> many_symbols;
  uint32_t* symbols = few_symbols.data();
  if (piece.size() > few_symbols.size()) {
    many_symbols.resize(piece.size());
    symbols = many_symbols.data();
  }
  const size_t num_symbols = MergeSymbols(symbols, CharactersToSymbols(piece, symbols));
  ids.insert(ids.end(), symbols, symbols + num_symbols);
}

size_t BytePairEncoder::BytesToSymbols(std::string_view word, uint32_t* symbols) const {
  size_t num_symbols = 0;
  bool was_unknown = false;
  for (const char c : word) {
    const int32_t token = byte_tokens_[static_cast<uint8_t>(c)];
    const bool is_unknown = token == kNoToken;
    if (!is_unknown) {
      symbols[num_symbols++] = static_cast<uint32_t>(token);
    } else if (unk_token_id_ && !(was_unknown && fuse_unk_)) {
      symbols[num_symbols++] = static_cast<uint32_t>(*unk_token_id_);
    }
    was_unknown = is_unknown;
  }
  return num_symbols;
}

// A character that is a token goes in whole if no token takes only a part of it: nothing but its
// own merges could have touched its bytes, and they all come before those that use it.
size_t BytePairEncoder::CharactersToSymbols(std::string_view piece, uint32_t* symbols) const {
  if (!has_ordered_merges_) {
    return BytesToSymbols(piece, symbols);
  }
  size_t num_symbols = 0;
  bool may_be_cut = false;  // by a token that reaches over from the character before
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = begin + Utf8SequenceLength(static_cast<uint8_t>(piece[begin]));
    const std::string_view character = piece.substr(begin, end - begin);
    bool may_be_cut_next = false;
    if (end < piece.size()) {
      const uint32_t left = PackCharacter(character);
      const size_t next_length = Utf8SequenceLength(static_cast<uint8_t>(piece[end]));
      const uint32_t right = PackCharacter(piece.substr(end, next_length));
      may_be_cut = may_be_cut || char_pairs_.MayTakePartOfLeft(left, right);
      may_be_cut_next = char_pairs_.MayTakePartOfRight(left, right);
    }
    const std::optional<TokenTable::Entry> entry =
        may_be_cut || character.size() == 1 ? std::nullopt : tokens_.Find(character);
    if (entry && entry->is_merged) {
      symbols[num_symbols++] = static_cast<uint32_t>(entry->id);
    } else {
      num_symbols += BytesToSymbols(character, symbols + num_symbols);
    }
    may_be_cut = may_be_cut_next;
    begin = end;
  }
  return num_symbols;
}

size_t BytePairEncoder::MergeSymbols(uint32_t* symbols, size_t num_symbols) const {
  return num_symbols <= kMaxScannedSymbols ? MergeByScan(symbols, num_symbols)
                                           : MergeByHeap(symbols, num_symbols);
}

void BytePairEncoder::MergeWord(std::string_view word, std::vector<TokenId>& ids) const {
  std::array<uint32_t, kMaxScannedSymbols> few_symbols;
  std::vector<uint32_t> many_symbols;
  uint32_t* symbols = few_symbols.data();
  if (word.size() > few_symbols.size()) {
    many_symbols.resize(word.size());
    symbols = many_symbols.data();
  }
  const size_t num_symbols = MergeSymbols(symbols, BytesToSymbols(word, symbols));
  ids.insert(ids.end(), symbols, symbols + num_symbols);
}

// The arrays stay dense, so the search for the lowest rank is one straight loop. Returns how many
// symbols are left.
size_t BytePairEncoder::MergeByScan(uint32_t* symbols, size_t num_symbols) const {
  if (num_symbols < 2) {
    return num_symbols;
  }
  // Of the pair (i, i + 1): rank << 32 | product. Equal ranks have equal products.
  std::array<uint64_t, kMaxScannedSymbols> merges;
  constexpr uint64_t kNoMerge = uint64_t{MergeTable::kNoRank} << 32;
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge merge = merges_.Find(symbols[i], symbols[i + 1]);
    merges[i] = uint64_t{merge.rank} << 32 | merge.product;
  };
  size_t num_pairs = num_symbols - 1;
  for (size_t i = 0; i < num_pairs; ++i) {
    look_up(i);
  }
  while (num_pairs > 0) {
    uint64_t lowest_merge = merges[0];
    size_t lowest = 0;
    for (size_t i = 1; i < num_pairs; ++i) {
      const bool is_lower = merges[i] < lowest_merge;  // without a branch: it is a coin toss
      lowest_merge = is_lower ? merges[i] : lowest_merge;
      lowest = is_lower ? i : lowest;
    }
    if (lowest_merge >= kNoMerge) {
      break;
    }
    symbols[lowest] = static_cast<uint32_t>(lowest_merge);
    std::copy(symbols + lowest + 2, symbols + num_pairs + 1, symbols + lowest + 1);
    std::copy_n(merges.data() + lowest + 1, num_pairs - lowest - 1, merges.data() + lowest);
    --num_pairs;
    if (lowest > 0) {
      look_up(lowest - 1);
    }
    if (lowest < num_pairs) {
      look_up(lowest);
    }
  }
  return num_pairs + 1;
}

// A linked list of symbols and a heap of candidate merges; a candidate whose pair has changed since
// is dropped when it comes up. n log n, so a megabyte of one letter is no trap.
size_t BytePairEncoder::MergeByHeap(uint32_t* symbols, size_t num_symbols) const {
  constexpr uint32_t kDead = std::numeric_limits<uint32_t>::max();
  struct Candidate {
    uint64_t rank_and_pos = 0;  // rank << 32 | pos: the lowest rank first, then the leftmost
    uint32_t left = 0;
    uint32_t right = 0;
    bool operator>(const Candidate& other) const { return rank_and_pos > other.rank_and_pos; }
  };
  std::vector<uint32_t> next(num_symbols);
  std::vector<uint32_t> previous(num_symbols);
  std::vector<Candidate> candidates;
  candidates.reserve(num_symbols);
  const auto make_candidate = [&](uint32_t pos) -> std::optional<Candidate> {
    const uint32_t right = symbols[next[pos]];
    const MergeTable::Merge merge = merges_.Find(symbols[pos], right);
    if (merge.rank == MergeTable::kNoRank) {
      return std::nullopt;
    }
    return Candidate{uint64_t{merge.rank} << 32 | pos, symbols[pos], right};
  };
  for (uint32_t i = 0; i < num_symbols; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (uint32_t i = 0; i + 1 < num_symbols; ++i) {
    if (const auto candidate = make_candidate(i)) {
      candidates.push_back(*candidate);
    }
  }
  std::priority_queue heap(std::greater<Candidate>(), std::move(candidates));
  const auto push = [&](uint32_t pos) {
    if (const auto candidate = make_candidate(pos)) {
      heap.push(*candidate);
    }
  };
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    const auto pos = static_cast<uint32_t>(top.rank_and_pos);
    if (symbols[pos] != top.left || next[pos] >= num_symbols || symbols[next[pos]] != top.right) {
      continue;
    }
    const uint32_t dead = next[pos];
    symbols[pos] = merges_.Find(top.left, top.right).product;
    symbols[dead] = kDead;
    next[pos] = next[dead];
    if (next[pos] < num_symbols) {
      previous[next[pos]] = pos;
      push(pos);
    }
    if (pos > 0) {
      push(previous[pos]);
    }
  }
  return static_cast<size_t>(std::remove(symbols, symbols + num_symbols, kDead) - symbols);
}

}  // namespace whinchat
