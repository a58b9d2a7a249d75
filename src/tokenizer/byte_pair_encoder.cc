// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_pair_encoder.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <string>

#include "base/error.h"

namespace whinchat {

BytePairEncoder::BytePairEncoder(const TokenizerSpec& spec)
    : tokens_(spec.vocab.size()),
      merges_(spec.merges.size()),
      unk_token_id_(spec.unk_token_id),
      fuse_unk_(spec.fuse_unk) {
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
      }
    }
  }
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char character = static_cast<char>(byte);
    byte_tokens_[byte] = FindToken({&character, 1}).value_or(kNoToken);
  }
  has_all_bytes_ = std::ranges::find(byte_tokens_, kNoToken) == byte_tokens_.end();
  AddMerges(spec);
  MarkWholeWords(spec);
}

void BytePairEncoder::AddMerges(const TokenizerSpec& spec) {
  std::string product;
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
    merges_.Insert(
        left_id, right_id, {.rank = static_cast<uint32_t>(rank), .product = find(product)});
  }
}

// A token may stand in the vocabulary and yet be out of reach of its own merges.
void BytePairEncoder::MarkWholeWords(const TokenizerSpec& spec) {
  std::vector<TokenId> ids;
  for (const std::string& bytes : spec.vocab) {
    if (bytes.empty()) {
      continue;
    }
    if (!spec.ignore_merges) {
      ids.clear();
      MergeWord(bytes, ids);
      if (ids.size() != 1 || ids[0] != FindToken(bytes)) {
        continue;
      }
    }
    tokens_.MarkWholeWord(bytes);
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
    if (entry && entry->is_whole_word) {
      ids.push_back(entry->id);
      return;
    }
  }
  MergeWord(word, ids);
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

void BytePairEncoder::MergeWord(std::string_view word, std::vector<TokenId>& ids) const {
  std::array<uint32_t, kMaxScannedSymbols> few_symbols;
  std::vector<uint32_t> many_symbols;
  uint32_t* symbols = few_symbols.data();
  size_t num_symbols = 0;
  if (word.size() <= few_symbols.size()) {
    num_symbols = MergeByScan(symbols, BytesToSymbols(word, symbols));
  } else {
    many_symbols.resize(word.size());
    symbols = many_symbols.data();
    num_symbols = MergeByHeap(symbols, BytesToSymbols(word, symbols));
  }
  ids.insert(ids.end(), symbols, symbols + num_symbols);
}

// The arrays stay dense, so the search for the lowest rank is one straight loop. Returns how many
// symbols are left.
size_t BytePairEncoder::MergeByScan(uint32_t* symbols, size_t num_symbols) const {
  if (num_symbols < 2) {
    return num_symbols;
  }
  std::array<uint32_t, kMaxScannedSymbols> ranks;  // of the pair (i, i + 1)
  std::array<uint32_t, kMaxScannedSymbols> products;
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge merge = merges_.Find(symbols[i], symbols[i + 1]);
    ranks[i] = merge.rank;
    products[i] = merge.product;
  };
  size_t num_pairs = num_symbols - 1;
  for (size_t i = 0; i < num_pairs; ++i) {
    look_up(i);
  }
  while (num_pairs > 0) {
    const auto ranks_end = ranks.begin() + static_cast<std::ptrdiff_t>(num_pairs);
    const auto lowest =
        static_cast<size_t>(std::min_element(ranks.begin(), ranks_end) - ranks.begin());
    if (ranks[lowest] == MergeTable::kNoRank) {
      break;
    }
    symbols[lowest] = products[lowest];
    std::copy(symbols + lowest + 2, symbols + num_pairs + 1, symbols + lowest + 1);
    const size_t num_behind = num_pairs - lowest - 1;
    std::copy_n(ranks.data() + lowest + 1, num_behind, ranks.data() + lowest);
    std::copy_n(products.data() + lowest + 1, num_behind, products.data() + lowest);
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
