// SPDX-License-Identifier: Apache-2.0
// The part of the engine that any thread may call: it checks, enqueues and wakes.
#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "engine/engine_state.h"
#include "tensor/kv_layout.h"

namespace whinchat {
namespace {

constexpr double kLongestWait = 1e8;  // seconds, three years: far from overflowing the clock

void CheckAtLeast(const char* name, int value, int minimum) {
  if (value < minimum) {
    ThrowError(
        ErrorCode::kInvalidArgument, "{} must be at least {}, but is {}", name, minimum, value);
  }
}

// A sequence of max_model_len tokens alone must fit into the blocks, or it could wait forever.
EngineOptions CheckOptions(EngineOptions options, const ModelConfig& config) {
  CheckAtLeast("max_num_seqs", options.max_num_seqs, 1);
  CheckAtLeast("max_num_batched_tokens", options.max_num_batched_tokens, options.max_num_seqs);
  CheckAtLeast("max_num_waiting", options.max_num_waiting, 0);
  CheckAtLeast("max_model_len", options.max_model_len, 2);
  CheckAtLeast("num_kv_blocks", options.num_kv_blocks, 1);
  CheckAtLeast("num_speculative_tokens", options.num_speculative_tokens, 0);
  const int64_t num_kv_tokens = int64_t{options.num_kv_blocks} * kKvBlockTokens;
  options.max_model_len = static_cast<int>(std::min<int64_t>(options.max_model_len, num_kv_tokens));
  if (config.max_seq_len > 0) {
    options.max_model_len = std::min(options.max_model_len, config.max_seq_len);
  }
  return options;
}

void CheckPrompt(const Request& request, const EngineOptions& options, int vocab_size) {
  if (request.prompt.empty()) {
    ThrowError(ErrorCode::kInvalidArgument, "the prompt has no tokens; send at least one");
  }
  if (request.prompt.size() >= static_cast<size_t>(options.max_model_len)) {
    ThrowError(ErrorCode::kContextLengthExceeded,
               "the prompt has {} tokens, but the context holds {} tokens of prompt and answer "
               "together; shorten the prompt",
               request.prompt.size(),
               options.max_model_len);
  }
  for (const TokenId token_id : request.prompt) {
    if (token_id < 0 || token_id >= vocab_size) {
      ThrowError(ErrorCode::kInvalidArgument,
                 "the prompt holds token id {}, but ids of this model are between 0 and {}",
                 token_id,
                 vocab_size - 1);
    }
  }
}

uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace

Engine::State::State(std::unique_ptr<Model> owned_model, const EngineOptions& engine_options)
    : model(std::move(owned_model)),
      options(CheckOptions(engine_options, model->config())),
      kv_cache(model->kv_layout(), options.num_kv_blocks),
      block_manager(options.num_kv_blocks, options.enable_prefix_caching),
      scheduler(options, &block_manager, &kv_cache) {
  const int max_num_logits = options.max_num_seqs + options.num_speculative_tokens;
  model->Reserve(options.max_num_batched_tokens, max_num_logits);
  verified_token_ids.reserve(static_cast<size_t>(max_num_logits));
  stats.num_kv_blocks = options.num_kv_blocks;
  outputs.reserve(static_cast<size_t>(options.max_num_seqs) +
                  static_cast<size_t>(options.max_num_waiting));
}

Engine::Engine(std::unique_ptr<Model> model, const EngineOptions& options)
    : state_(std::make_unique<State>(std::move(model), options)) {
  state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopping = true;
  }
  state_->has_work.notify_all();
  state_->thread.join();
}

std::shared_ptr<TokenStream> Engine::Submit(Request request, TokenStream::WakeFn wake) {
  State& state = *state_;
  const int vocab_size = state.model->config().vocab_size;
  CheckPrompt(request, state.options, vocab_size);
  ValidateSamplingParams(request.sampling, vocab_size);
  if (!request.sampling.seed) {
    request.sampling.seed = RandomSeed();
  }
  auto sequence = std::make_unique<Sequence>(std::move(request));
  std::shared_ptr<TokenStream> stream = sequence->stream;
  stream->SetWake(std::move(wake));
  {
    const std::lock_guard lock(state.mutex);
    if (state.is_draining || state.is_stopping) {
      ThrowError(ErrorCode::kUnavailable, "the engine is shutting down and takes no requests");
    }
    if (state.num_unfinished >= state.options.max_num_seqs + state.options.max_num_waiting) {
      ThrowError(ErrorCode::kUnavailable,
                 "{} requests are running or waiting, which is the limit; try again later",
                 state.num_unfinished);
    }
    if (state.num_unfinished == 0) {
      state.last_step_time = std::chrono::steady_clock::now();
    }
    sequence->arrival = state.num_submitted;
    state.submitted.push_back(std::move(sequence));
    ++state.num_submitted;
    ++state.num_unfinished;
  }
  state.has_work.notify_one();
  return stream;
}

bool Engine::Drain(double timeout_seconds) {
  const double timeout =
      std::isnan(timeout_seconds) ? 0.0 : std::clamp(timeout_seconds, 0.0, kLongestWait);
  std::unique_lock lock(state_->mutex);
  state_->is_draining = true;
  return state_->is_idle.wait_for(
      lock, std::chrono::duration<double>(timeout), [this] { return state_->num_unfinished == 0; });
}

EngineStats Engine::Stats() const {
  const std::lock_guard lock(state_->mutex);
  EngineStats stats = state_->stats;
  stats.num_requests_waiting = state_->num_unfinished - stats.num_requests_running;
  if (state_->num_unfinished > 0) {
    const auto since = std::chrono::steady_clock::now() - state_->last_step_time;
    stats.seconds_since_last_step = std::chrono::duration<double>(since).count();
  }
  return stats;
}

const ModelConfig& Engine::model_config() const {
  return state_->model->config();
}
const EngineOptions& Engine::options() const {
  return state_->options;
}

}  // namespace whinchat
