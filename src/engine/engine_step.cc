// SPDX-License-Identifier: Apache-2.0
// The engine thread. A step takes in what was submitted, schedules, computes, samples and only
// then publishes: whoever sees the last output of a request also sees its blocks given back.
// A fault ends the sequences it touched with kError, and the engine goes on.
#include <algorithm>
#include <exception>
#include <optional>
#include <span>

#include "engine/engine_state.h"

namespace whinchat {
namespace {

double MillisecondsBetween(Sequence::Time begin, Sequence::Time end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

RequestTimings TimingsUntil(const Sequence& sequence, Sequence::Time now) {
  RequestTimings timings;
  const Sequence::Time admitted = sequence.admit_time.value_or(now);
  timings.queue_ms = MillisecondsBetween(sequence.submit_time, admitted);
  timings.prefill_ms = MillisecondsBetween(admitted, sequence.first_token_time.value_or(now));
  if (sequence.first_token_time) {
    timings.first_token_ms = MillisecondsBetween(sequence.submit_time, *sequence.first_token_time);
  }
  timings.total_ms = MillisecondsBetween(sequence.submit_time, now);
  return timings;
}

}  // namespace

void Engine::State::Run() {
  while (WaitForWork()) {
    Step();
  }
  CancelAll();
}

bool Engine::State::WaitForWork() {
  std::unique_lock lock(mutex);
  has_work.wait(lock, [this] { return is_stopping || num_unfinished > 0; });
  return !is_stopping;
}

void Engine::State::Step() noexcept {
  try {
    TakeSubmitted();
    Schedule();
    Forward();
    Sample();
  } catch (const std::exception& error) {
    FailStep(error.what());
  }
  Publish();
}

void Engine::State::TakeSubmitted() {
  std::vector<std::unique_ptr<Sequence>> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(submitted);
  }
  for (auto& sequence : taken) {
    scheduler.Add(std::move(sequence));
  }
}

void Engine::State::Schedule() {
  batch.clear();
  std::vector<Sequence*> cancelled;
  const auto add_if_cancelled = [&](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->stream->is_cancelled()) {
      cancelled.push_back(sequence.get());
    }
  };
  std::ranges::for_each(scheduler.running(), add_if_cancelled);
  std::ranges::for_each(scheduler.waiting(), add_if_cancelled);
  for (Sequence* sequence : cancelled) {
    Cancel(sequence);
  }
  batch = scheduler.Schedule();
}

void Engine::State::Forward() {
  forward_batch.chunks.clear();
  verified_token_ids.clear();
  for (const ScheduledChunk& chunk : batch) {
    forward_batch.chunks.push_back(ToModelChunk(chunk));
  }
  logits = batch.empty() ? nullptr : model->Forward(forward_batch, &kv_cache);
}

SequenceChunk Engine::State::ToModelChunk(const ScheduledChunk& chunk) {
  const Sequence& sequence = *chunk.sequence;
  const auto start = static_cast<size_t>(sequence.num_computed_tokens);
  SequenceChunk model_chunk;
  model_chunk.token_ids =
      std::span(sequence.token_ids).subspan(start, static_cast<size_t>(chunk.num_tokens));
  model_chunk.start_position = sequence.num_computed_tokens;
  model_chunk.block_table = sequence.block_table;
  model_chunk.num_logits = chunk.IsLast() ? 1 + chunk.num_draft_tokens : 0;
  if (chunk.num_draft_tokens > 0) {
    const size_t begin = verified_token_ids.size();
    const std::span<const TokenId> draft =
        sequence.drafter.draft().first(static_cast<size_t>(chunk.num_draft_tokens));
    verified_token_ids.push_back(sequence.token_ids.back());
    verified_token_ids.insert(verified_token_ids.end(), draft.begin(), draft.end());
    model_chunk.token_ids = std::span(verified_token_ids).subspan(begin);  // reserved: stays put
  }
  return model_chunk;
}

void Engine::State::Sample() {
  if (logits == nullptr && forward_batch.NumLogits() > 0) {
    for (const ScheduledChunk& chunk : batch) {
      Fail(chunk.sequence, "the forward pass failed");
    }
    return;
  }
  const float* rows = logits;
  for (size_t i = 0; i < batch.size(); ++i) {
    const ScheduledChunk& chunk = batch[i];
    const SequenceChunk& model_chunk = forward_batch.chunks[i];
    scheduler.MarkComputed(chunk.sequence, chunk.num_tokens);
    if (model_chunk.num_logits > 0) {
      const auto num_draft_tokens = static_cast<size_t>(chunk.num_draft_tokens);
      SampleChunk(chunk, model_chunk.token_ids.last(num_draft_tokens), rows);
      rows += static_cast<size_t>(model_chunk.num_logits) * model->logits_stride();
    }
  }
}

// The logits behind a drafted token hold only if the token is the one that is sampled: each row is
// sampled as if there were no drafts, until one differs. So the answer is the same with or without.
void Engine::State::SampleChunk(const ScheduledChunk& chunk,
                                std::span<const TokenId> draft,
                                const float* rows) {
  const auto vocab_size = static_cast<size_t>(model->config().vocab_size);
  counters.num_drafts += draft.empty() ? 0 : 1;
  counters.num_draft_tokens += draft.size();
  for (size_t i = 0; i <= draft.size(); ++i) {
    const auto token_id =
        SampleOne(chunk.sequence, {rows + i * model->logits_stride(), vocab_size});
    if (!token_id) {
      return;
    }
    if (i == draft.size() || *token_id != draft[i]) {
      break;
    }
    scheduler.MarkComputed(chunk.sequence, 1);
    ++counters.num_accepted_tokens;
  }
  scheduler.TrimBlockTable(chunk.sequence);
}

std::optional<TokenId> Engine::State::SampleOne(Sequence* sequence,
                                                std::span<const float> token_logits) {
  try {
    return AppendSampled(sequence, sequence->sampler.Sample(token_logits, sequence->NumTokens()));
  } catch (const std::exception& error) {
    Fail(sequence, error.what());
    return std::nullopt;
  }
}

std::optional<TokenId> Engine::State::AppendSampled(Sequence* sequence, SampledToken sampled) {
  const SamplingParams& sampling = sequence->request.sampling;
  if (!sequence->first_token_time) {
    sequence->first_token_time = std::chrono::steady_clock::now();
  }
  TokenOutput output = MakeOutput(*sequence);
  if (std::ranges::find(sampling.stop_token_ids, sampled.token_id) !=
      sampling.stop_token_ids.end()) {
    output.finish_reason = FinishReason::kStop;
    output.stop_token_id = sampled.token_id;
    Finish(sequence, std::move(output));
    return std::nullopt;
  }
  const TokenId token_id = sampled.token_id;
  sequence->token_ids.push_back(token_id);
  ++counters.num_generation_tokens;
  output.has_token = true;
  output.token = std::move(sampled);
  if (sequence->NumOutputTokens() >= sampling.max_tokens ||
      sequence->NumTokens() >= options.max_model_len) {
    output.finish_reason = FinishReason::kLength;
    Finish(sequence, std::move(output));
    return std::nullopt;
  }
  outputs.emplace_back(sequence->stream, std::move(output));
  return token_id;
}

TokenOutput Engine::State::MakeOutput(const Sequence& sequence) const {
  TokenOutput output;
  output.num_prompt_tokens = sequence.num_prompt_tokens;
  output.num_cached_tokens = sequence.num_cached_tokens;
  return output;
}

void Engine::State::Finish(Sequence* sequence, TokenOutput output) {
  const bool is_sound = output.finish_reason != FinishReason::kError;
  const auto finished = scheduler.Remove(sequence, /*keep_in_prefix_cache=*/is_sound);
  output.timings = TimingsUntil(*finished, std::chrono::steady_clock::now());
  if (finished->admit_time) {
    counters.num_prompt_tokens += static_cast<uint64_t>(finished->num_prompt_tokens);
    counters.num_cached_tokens += static_cast<uint64_t>(finished->num_cached_tokens);
  }
  ++counters.num_finished;
  outputs.emplace_back(finished->stream, std::move(output));
}

void Engine::State::Fail(Sequence* sequence, const std::string& message) {
  TokenOutput output = MakeOutput(*sequence);
  output.finish_reason = FinishReason::kError;
  output.error_message = message;
  Finish(sequence, std::move(output));
}

// What ran may hold half a step. The first in the queue is at fault if it holds blocks, or if
// nothing else was there to do.
void Engine::State::FailStep(const std::string& message) {
  const auto& waiting = scheduler.waiting();
  if (!waiting.empty() && (scheduler.running().empty() || !waiting.front()->block_table.empty())) {
    Fail(waiting.front().get(), message);
  }
  while (!scheduler.running().empty()) {
    Fail(scheduler.running().back().get(), message);
  }
}

void Engine::State::Publish() {
  {
    const std::lock_guard lock(mutex);
    ++counters.num_steps;
    counters.num_requests_running = static_cast<int>(scheduler.running().size());
    counters.num_kv_blocks = block_manager.num_blocks();
    counters.num_kv_blocks_used = block_manager.NumUsed();
    counters.num_preemptions = scheduler.num_preemptions();
    num_unfinished -= static_cast<int>(counters.num_finished - stats.num_finished);
    stats = counters;
    last_step_time = std::chrono::steady_clock::now();
    if (num_unfinished == 0) {
      is_idle.notify_all();
    }
  }
  for (auto& [stream, output] : outputs) {
    stream->Push(std::move(output));
  }
  outputs.clear();
}

void Engine::State::Cancel(Sequence* sequence) {
  TokenOutput output = MakeOutput(*sequence);
  output.finish_reason = FinishReason::kCancelled;
  Finish(sequence, std::move(output));
}

void Engine::State::CancelAll() {
  TakeSubmitted();
  for (const auto* list : {&scheduler.running(), &scheduler.waiting()}) {
    while (!list->empty()) {
      Cancel(list->back().get());
    }
  }
  Publish();
}

}  // namespace whinchat
