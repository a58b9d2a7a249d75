// SPDX-License-Identifier: Apache-2.0
// A prefill owns the blocks of its whole prompt from its admission on, so only decodes ask for
// blocks, in rank order: whoever is preempted ranks behind and is not in the batch yet.
#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/kv_layout.h"

namespace whinchat {
namespace {

// Copying a block of another sequence costs less than computing this many tokens.
constexpr int kMinPartialTokens = 4;

using SequenceList = std::vector<std::unique_ptr<Sequence>>;

size_t NumBlocksFor(int num_tokens) {
  return static_cast<size_t>((num_tokens + kKvBlockTokens - 1) / kKvBlockTokens);
}

void InsertByRank(SequenceList& list, std::unique_ptr<Sequence> sequence) {
  const auto place = std::ranges::upper_bound(
      list,
      *sequence,
      [](const Sequence& a, const Sequence& b) { return a.RanksBefore(b); },
      [](const std::unique_ptr<Sequence>& item) -> const Sequence& { return *item; });
  list.insert(place, std::move(sequence));
}

std::unique_ptr<Sequence> TakeFrom(SequenceList& list, const Sequence* sequence) {
  const auto found = std::ranges::find(list, sequence, &std::unique_ptr<Sequence>::get);
  if (found == list.end()) {
    return nullptr;
  }
  std::unique_ptr<Sequence> taken = std::move(*found);
  list.erase(found);
  return taken;
}

}  // namespace

Scheduler::Scheduler(const EngineOptions& options,
                     BlockManager* block_manager,
                     PagedKvCache* kv_cache)
    : options_(options), block_manager_(block_manager), kv_cache_(kv_cache) {
  const auto max_num_seqs = static_cast<size_t>(options.max_num_seqs);
  running_.reserve(max_num_seqs);
  batch_.reserve(max_num_seqs);
  waiting_.reserve(max_num_seqs + static_cast<size_t>(options.max_num_waiting));
}

void Scheduler::Add(std::unique_ptr<Sequence> sequence) {
  InsertByRank(waiting_, std::move(sequence));
}

const std::vector<ScheduledChunk>& Scheduler::Schedule() {
  batch_.clear();
  token_budget_ = options_.max_num_batched_tokens;
  has_preempted_ = false;
  ScheduleDecodes();
  ScheduleDrafts();
  SchedulePrefills();
  if (!has_preempted_) {  // else the preempted one would come back at once
    AdmitWaiting();
  }
  return batch_;
}

void Scheduler::ScheduleDecodes() {
  for (size_t i = 0; i < running_.size(); ++i) {  // GrowBlockTable may shorten the list
    Sequence* sequence = running_[i].get();
    if (sequence->NumUncomputedTokens() == 1 && GrowBlockTable(sequence)) {
      ScheduleChunk(sequence);
    }
  }
}

// Half of what the decodes leave of the budget at most, or a drafting sequence could keep prompts
// from being computed.
void Scheduler::ScheduleDrafts() {
  int num_left = std::min(options_.num_speculative_tokens, token_budget_ / 2);
  for (ScheduledChunk& chunk : batch_) {
    Sequence* sequence = chunk.sequence;
    const int max_tokens = std::min(num_left, MaxDraftTokens(*sequence));
    if (max_tokens <= 0) {
      continue;
    }
    const int num_proposed = sequence->drafter.Propose(sequence->token_ids, max_tokens);
    chunk.num_draft_tokens = FitDraft(sequence, num_proposed);
    num_left -= chunk.num_draft_tokens;
    token_budget_ -= chunk.num_draft_tokens;
  }
}

// The token behind the draft is still to fit.
int Scheduler::MaxDraftTokens(const Sequence& sequence) const {
  return std::min(sequence.request.sampling.max_tokens - sequence.NumOutputTokens(),
                  options_.max_model_len - sequence.NumTokens()) -
         1;
}

void Scheduler::SchedulePrefills() {
  for (const auto& sequence : running_) {
    if (token_budget_ > 0 && sequence->NumUncomputedTokens() > 1) {
      ScheduleChunk(sequence.get());
    }
  }
}

void Scheduler::AdmitWaiting() {
  while (!waiting_.empty() && token_budget_ > 0 &&
         running_.size() < static_cast<size_t>(options_.max_num_seqs)) {
    Sequence* sequence = waiting_.front().get();
    if (!Admit(sequence)) {
      return;  // nobody overtakes: a long prompt would starve
    }
    InsertByRank(running_, TakeFrom(waiting_, sequence));
    ScheduleChunk(sequence);
  }
}

// Finds the cached prefix and allocates the rest of the blocks. One block for each running sequence
// is left over, so that their next tokens do not preempt the newcomer at once.
bool Scheduler::Admit(Sequence* sequence) {
  const PrefixMatch match = block_manager_->Match(
      sequence->token_ids, sequence->NumTokens() - 1, sequence->request.cache_salt);
  sequence->block_table = match.blocks;
  const size_t num_blocks = NumBlocksFor(sequence->NumTokens());
  const size_t num_needed = num_blocks - match.blocks.size() + running_.size();
  if (num_needed > static_cast<size_t>(block_manager_->NumFree())) {
    ReleaseBlocks(sequence, /*keep_in_prefix_cache=*/false);
    return false;
  }
  sequence->num_computed_tokens = match.num_tokens;
  TakePartialHit(match, sequence);
  const bool is_complete = GrowBlockTable(sequence);
  WHINCHAT_CHECK(is_complete);  // the blocks were counted above
  if (!sequence->admit_time) {
    sequence->admit_time = std::chrono::steady_clock::now();
    sequence->num_cached_tokens = sequence->num_computed_tokens;
  }
  return true;
}

// Allocates the block behind the matched ones and copies what another block knows of it. Called
// right after the lookup: a later Allocate could take the block to copy from.
void Scheduler::TakePartialHit(const PrefixMatch& match, Sequence* sequence) {
  if (!match.partial_block || match.num_partial_tokens < kMinPartialTokens) {
    return;
  }
  const std::optional<BlockId> block = block_manager_->Allocate();
  WHINCHAT_CHECK(block.has_value());
  sequence->block_table.push_back(*block);
  sequence->num_computed_tokens += match.num_partial_tokens;
  if (*block != *match.partial_block) {
    kv_cache_->CopyBlock(*match.partial_block, *block);
  }
}

void Scheduler::ScheduleChunk(Sequence* sequence) {
  const int num_tokens = std::min(token_budget_, sequence->NumUncomputedTokens());
  WHINCHAT_CHECK(num_tokens > 0);
  batch_.push_back({.sequence = sequence, .num_tokens = num_tokens});
  token_budget_ -= num_tokens;
}

// Gets the blocks its tokens still lack. False if the sequence itself had to be preempted.
bool Scheduler::GrowBlockTable(Sequence* sequence) {
  while (sequence->block_table.size() < NumBlocksFor(sequence->NumTokens())) {
    if (const auto block = block_manager_->Allocate()) {
      sequence->block_table.push_back(*block);
      continue;
    }
    Sequence* victim = running_.back().get();
    Preempt(victim);
    if (victim == sequence) {
      return false;
    }
  }
  return true;
}

// How many of the draft's tokens have a slot. A draft is a guess: it takes no block that a running
// or a waiting sequence may need next.
int Scheduler::FitDraft(Sequence* sequence, int num_draft_tokens) {
  const size_t num_blocks = NumBlocksFor(sequence->NumTokens() + num_draft_tokens);
  while (sequence->block_table.size() < num_blocks && waiting_.empty() &&
         static_cast<size_t>(block_manager_->NumFree()) > running_.size()) {
    const std::optional<BlockId> block = block_manager_->Allocate();
    WHINCHAT_CHECK(block.has_value());
    sequence->block_table.push_back(*block);
  }
  const auto num_slots = static_cast<int>(sequence->block_table.size()) * kKvBlockTokens;
  return std::min(num_draft_tokens, num_slots - sequence->NumTokens());
}

void Scheduler::TrimBlockTable(Sequence* sequence) {
  const size_t num_blocks = NumBlocksFor(sequence->NumTokens());
  if (sequence->block_table.size() > num_blocks) {
    block_manager_->Free(std::span(sequence->block_table).subspan(num_blocks));
    sequence->block_table.resize(num_blocks);
  }
}

void Scheduler::Preempt(Sequence* sequence) {
  ReleaseBlocks(sequence, /*keep_in_prefix_cache=*/true);
  InsertByRank(waiting_, TakeFrom(running_, sequence));
  has_preempted_ = true;
  ++num_preemptions_;
}

void Scheduler::MarkComputed(Sequence* sequence, int num_tokens) {
  const int num_full_before = sequence->num_computed_tokens / kKvBlockTokens;
  sequence->num_computed_tokens += num_tokens;
  const int num_full = sequence->num_computed_tokens / kKvBlockTokens;
  if (num_full > num_full_before) {
    const auto num_full_tokens = static_cast<size_t>(num_full) * kKvBlockTokens;
    block_manager_->Register(std::span(sequence->token_ids).first(num_full_tokens),
                             sequence->block_table,
                             sequence->request.cache_salt);
  }
}

std::unique_ptr<Sequence> Scheduler::Remove(Sequence* sequence, bool keep_in_prefix_cache) {
  ReleaseBlocks(sequence, keep_in_prefix_cache);
  std::unique_ptr<Sequence> removed = TakeFrom(running_, sequence);
  return removed ? std::move(removed) : TakeFrom(waiting_, sequence);
}

void Scheduler::ReleaseBlocks(Sequence* sequence, bool keep_in_prefix_cache) {
  if (keep_in_prefix_cache) {
    const auto num_tokens = static_cast<size_t>(sequence->num_computed_tokens);
    block_manager_->Register(std::span(sequence->token_ids).first(num_tokens),
                             sequence->block_table,
                             sequence->request.cache_salt);
  }
  block_manager_->Free(sequence->block_table);
  sequence->block_table.clear();
  sequence->num_computed_tokens = 0;
}

}  // namespace whinchat
