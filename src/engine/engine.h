// SPDX-License-Identifier: Apache-2.0
// The engine: one thread that owns the model. Each Step() is Schedule -> Forward -> Sample ->
// Publish. Any thread may call Submit and Stats.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/request.h"
#include "engine/token_stream.h"
#include "model/model.h"

namespace whinchat {

struct EngineOptions {
  int max_model_len = 8192;          // tokens of prompt and answer of one sequence
  int max_num_seqs = 8;              // sequences in one batch
  int max_num_batched_tokens = 512;  // tokens of one step: the prefill chunk budget
  int max_num_waiting = 64;          // beyond that and max_num_seqs together Submit refuses
  int num_kv_blocks = 0;             // of the paged KV cache; see PlanMemory in pipeline
  bool enable_prefix_caching = true;
  int num_speculative_tokens = 0;  // drafted and verified in one step, by all sequences together
};

struct EngineStats {
  int num_requests_running = 0;
  int num_requests_waiting = 0;
  int num_kv_blocks = 0;
  int num_kv_blocks_used = 0;
  uint64_t num_steps = 0;
  double seconds_since_last_step = 0;  // while there is work; 0 when idle
  uint64_t num_preemptions = 0;
  uint64_t num_prompt_tokens = 0;
  uint64_t num_cached_tokens = 0;  // prefix cache hits
  uint64_t num_generation_tokens = 0;
  uint64_t num_finished = 0;
  uint64_t num_drafts = 0;           // speculation: drafts verified,
  uint64_t num_draft_tokens = 0;     // their tokens,
  uint64_t num_accepted_tokens = 0;  // and those that came true
};

class Engine {
 public:
  // Takes the model; starts the thread. Throws Error{kInvalidArgument} for options that can't work,
  // Error{kOutOfMemory}. max_model_len is lowered to what the model and the blocks allow.
  Engine(std::unique_ptr<Model> model, const EngineOptions& options);
  // Cancels what runs and joins.
  ~Engine();

  // Never blocks. Throws Error{kContextLengthExceeded} with both numbers when the prompt leaves no
  // room for one token, Error{kUnavailable} when the queue is full, Error{kInvalidArgument} for an
  // empty prompt or a token id outside the vocabulary.
  std::shared_ptr<TokenStream> Submit(Request request, TokenStream::WakeFn wake = {});

  // Lets running and waiting requests finish; later Submits are refused with kUnavailable.
  // Returns when all are done or the time is over; true if all are.
  bool Drain(double timeout_seconds);

  EngineStats Stats() const;
  const ModelConfig& model_config() const;
  const EngineOptions& options() const;  // as used

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
