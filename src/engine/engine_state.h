// SPDX-License-Identifier: Apache-2.0
// What an Engine holds. The first half belongs to the engine thread; the second is shared under
// `mutex`. engine.cc has the part any thread may call, engine_step.cc the engine thread's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "kv_cache/block_manager.h"
#include "kv_cache/paged_kv_cache.h"

namespace whinchat {

struct Engine::State {
  State(std::unique_ptr<Model> owned_model, const EngineOptions& engine_options);

  // The engine thread: sleeps while there is no request, steps while there is.
  void Run();
  bool WaitForWork();  // false: the engine is being destroyed
  void Step() noexcept;

  void TakeSubmitted();
  void Schedule();
  void Forward();
  void Sample();
  void Publish();

  SequenceChunk ToModelChunk(const ScheduledChunk& chunk);
  // `rows`: the logits of the chunk's last token, then those of its draft.
  void SampleChunk(const ScheduledChunk& chunk, std::span<const TokenId> draft, const float* rows);
  // The new last token; nothing if the sequence has ended and is gone.
  std::optional<TokenId> SampleOne(Sequence* sequence, std::span<const float> token_logits);
  std::optional<TokenId> AppendSampled(Sequence* sequence, SampledToken sampled);
  TokenOutput MakeOutput(const Sequence& sequence) const;
  void Finish(Sequence* sequence, TokenOutput output);
  void Fail(Sequence* sequence, const std::string& message);
  void FailStep(const std::string& message);
  void Cancel(Sequence* sequence);
  void CancelAll();

  // Engine thread only.
  const std::unique_ptr<Model> model;
  const EngineOptions options;
  PagedKvCache kv_cache;
  BlockManager block_manager;
  Scheduler scheduler;
  std::vector<ScheduledChunk> batch;  // of this step
  ForwardBatch forward_batch;
  std::vector<TokenId> verified_token_ids;  // of chunks with drafts: last tokens and drafts
  const float* logits = nullptr;            // [forward_batch.NumLogits(), vocab_size]
  std::vector<std::pair<std::shared_ptr<TokenStream>, TokenOutput>> outputs;  // of this step
  EngineStats counters;  // the counts since the start; Publish copies them to `stats`

  mutable std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable is_idle;
  std::vector<std::unique_ptr<Sequence>> submitted;  // not yet seen by the engine thread
  int num_unfinished = 0;                            // submitted, waiting and running
  uint64_t num_submitted = 0;
  bool is_stopping = false;
  bool is_draining = false;
  EngineStats stats;
  std::chrono::steady_clock::time_point last_step_time;

  std::thread thread;
};

}  // namespace whinchat
