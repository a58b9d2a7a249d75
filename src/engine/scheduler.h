// SPDX-License-Identifier: Apache-2.0
// Which tokens of which sequences one step computes, and which blocks hold them. Running decodes
// come first, with drafts to verify, then prefill chunks within the token budget, then waiting
// sequences are admitted.
// A waiting sequence is admitted when blocks for all its tokens are there; when a decode finds no
// block, the lowest-ranked running sequence is preempted. Engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/sequence.h"
#include "kv_cache/block_manager.h"
#include "kv_cache/paged_kv_cache.h"

namespace whinchat {

// The next `num_tokens` uncomputed tokens of a sequence, and behind the last of them drafted ones
// that may follow it.
struct ScheduledChunk {
  Sequence* sequence = nullptr;
  int num_tokens = 0;
  int num_draft_tokens = 0;  // the first ones of sequence->drafter

  bool IsLast() const { return num_tokens == sequence->NumUncomputedTokens(); }
};

class Scheduler {
 public:
  Scheduler(const EngineOptions& options, BlockManager* block_manager, PagedKvCache* kv_cache);

  // Puts a new sequence into the waiting queue.
  void Add(std::unique_ptr<Sequence> sequence);

  // The batch of the next step, valid until the next call. Empty only if there are no sequences.
  const std::vector<ScheduledChunk>& Schedule();

  // The keys and values of the sequence's next tokens are in the blocks now: full blocks become
  // findable. A drafted token is one of them once it is accepted.
  void MarkComputed(Sequence* sequence, int num_tokens);

  // Gives back the blocks that only rejected tokens lie in.
  void TrimBlockTable(Sequence* sequence);

  // Takes the sequence out. Its computed blocks go to the prefix cache unless they can't be
  // trusted.
  std::unique_ptr<Sequence> Remove(Sequence* sequence, bool keep_in_prefix_cache);

  const std::vector<std::unique_ptr<Sequence>>& running() const { return running_; }
  const std::vector<std::unique_ptr<Sequence>>& waiting() const { return waiting_; }
  uint64_t num_preemptions() const { return num_preemptions_; }

 private:
  void ScheduleDecodes();
  void ScheduleDrafts();
  void SchedulePrefills();
  void AdmitWaiting();
  bool Admit(Sequence* sequence);
  void TakePartialHit(const PrefixMatch& match, Sequence* sequence);
  void ScheduleChunk(Sequence* sequence);
  int MaxDraftTokens(const Sequence& sequence) const;
  int FitDraft(Sequence* sequence, int num_draft_tokens);
  bool GrowBlockTable(Sequence* sequence);
  void Preempt(Sequence* sequence);
  void ReleaseBlocks(Sequence* sequence, bool keep_in_prefix_cache);

  const EngineOptions options_;
  BlockManager* block_manager_;
  PagedKvCache* kv_cache_;
  std::vector<std::unique_ptr<Sequence>> running_;  // both by rank, best first
  std::vector<std::unique_ptr<Sequence>> waiting_;
  std::vector<ScheduledChunk> batch_;
  int token_budget_ = 0;        // left in this step
  bool has_preempted_ = false;  // in this step
  uint64_t num_preemptions_ = 0;
};

}  // namespace whinchat
