// SPDX-License-Identifier: Apache-2.0
// A generator without a model: it answers with words, as fast as the test wants, from a thread of
// its own as the engine does. Counts what runs, so that a test sees a cancel arrive.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "pipeline/text_generator.h"

namespace whinchat {

struct FakeBehaviour {
  int num_words = 3;
  std::chrono::milliseconds interval{0};     // between two words; 0: all are there at once
  std::chrono::milliseconds encode_time{0};  // what template and tokenizer take
  int max_running = 1000;                    // beyond it: kUnavailable
  int max_prompt_bytes = 1000;               // beyond it: kContextLengthExceeded
  int fail_after_words = -1;                 // an engine fault
  std::string word = "w{}";
  std::string reasoning;  // before the first word
};

class FakeGeneration final : public Generation {
 public:
  FakeGeneration(const FakeBehaviour& behaviour,
                 int num_prompt_tokens,
                 const GenerateOptions& options,
                 std::atomic<int>* num_running)
      : behaviour_(behaviour), options_(options), num_running_(num_running) {
    usage_.num_prompt_tokens = num_prompt_tokens;
    ++*num_running_;
    if (behaviour_.interval.count() == 0) {
      Produce();
    } else {
      thread_ = std::thread([this] { Produce(); });
    }
  }

  ~FakeGeneration() override {
    Cancel();
    if (thread_.joinable()) {
      thread_.join();
    }
    --*num_running_;
  }

  std::optional<GenerationDelta> Next() override {
    while (true) {
      if (auto delta = TryNext(); delta.has_value() || is_finished()) {
        return delta;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::optional<GenerationDelta> TryNext() override {
    const std::lock_guard lock(mutex_);
    if (deltas_.empty()) {
      if (has_failed_) {
        throw Error(ErrorCode::kInternal, "The engine broke.");
      }
      return std::nullopt;
    }
    GenerationDelta delta = std::move(deltas_.front());
    deltas_.pop_front();
    usage_.num_completion_tokens += delta.content.empty() ? 0 : 1;
    is_finished_ = delta.finish_reason != FinishReason::kNone;
    return delta;
  }

  bool is_finished() const override { return is_finished_; }
  void Cancel() override { is_cancelled_ = true; }
  Usage usage() const override { return usage_; }
  RequestTimings timings() const override { return {.queue_ms = 1, .prefill_ms = 2}; }

  void SetWake(TokenStream::WakeFn wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    if (wake_ && !deltas_.empty()) {
      wake_();
    }
  }

 private:
  void Produce() {
    const int num_words = std::min(behaviour_.num_words, options_.sampling.max_tokens);
    if (!behaviour_.reasoning.empty()) {
      GenerationDelta thought;
      thought.reasoning_content = behaviour_.reasoning;
      Push(thought);
    }
    for (int i = 0; i < num_words && !is_cancelled_; ++i) {
      std::this_thread::sleep_for(behaviour_.interval);
      if (i == behaviour_.fail_after_words) {
        Fail();
        return;
      }
      GenerationDelta delta;
      delta.content = fmt::format(fmt::runtime(behaviour_.word), i);
      if (options_.sampling.num_logprobs.has_value()) {
        delta.logprobs = {{'w', -0.5F, {{'w', -0.5F}}}};
      }
      if (i + 1 == num_words) {
        delta.finish_reason =
            num_words < behaviour_.num_words ? FinishReason::kLength : FinishReason::kStop;
      }
      Push(delta);
    }
  }

  void Push(GenerationDelta delta) {
    const std::lock_guard lock(mutex_);
    deltas_.push_back(std::move(delta));
    if (wake_) {
      wake_();
    }
  }

  void Fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    if (wake_) {
      wake_();
    }
  }

  const FakeBehaviour behaviour_;
  const GenerateOptions options_;
  std::atomic<int>* num_running_;
  std::mutex mutex_;
  std::deque<GenerationDelta> deltas_;
  TokenStream::WakeFn wake_;
  Usage usage_;
  bool has_failed_ = false;
  std::atomic<bool> is_finished_{false};
  std::atomic<bool> is_cancelled_{false};
  std::thread thread_;
};

// Every byte is a token.
inline Tokenizer MakeByteTokenizer() {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    spec.vocab.push_back(std::string(1, static_cast<char>(byte)));
  }
  return Tokenizer(std::move(spec));
}

class FakeGenerator final : public TextGenerator {
 public:
  explicit FakeGenerator(FakeBehaviour behaviour = {}) : behaviour_(std::move(behaviour)) {}

  int num_running() const { return num_running_; }
  double seconds_since_last_step = 0;  // set before the server runs
  GenerateOptions last_options() const {
    const std::lock_guard lock(mutex_);
    return last_options_;
  }

  std::unique_ptr<Generation> GenerateChat(const std::vector<Message>& messages,
                                           const ChatTemplateOptions& template_options,
                                           const GenerateOptions& options) override {
    return GenerateText(RenderChat(messages, template_options), options);
  }

  std::unique_ptr<Generation> GenerateText(std::string_view prompt,
                                           const GenerateOptions& options) override {
    return GenerateTokens(tokenizer_.Encode(prompt), /*starts_in_reasoning=*/false, options);
  }

  std::unique_ptr<Generation> GenerateTokens(std::vector<TokenId> prompt,
                                             bool /*starts_in_reasoning*/,
                                             const GenerateOptions& options) override {
    std::this_thread::sleep_for(behaviour_.encode_time);
    const int num_prompt_tokens = static_cast<int>(prompt.size());
    if (num_prompt_tokens > behaviour_.max_prompt_bytes) {
      ThrowError(ErrorCode::kContextLengthExceeded,
                 "The prompt has {} tokens; the context is {}.",
                 num_prompt_tokens,
                 behaviour_.max_prompt_bytes);
    }
    if (num_running_ >= behaviour_.max_running) {
      throw Error(ErrorCode::kUnavailable, "The queue is full; try again.");
    }
    const std::lock_guard lock(mutex_);
    last_options_ = options;
    return std::make_unique<FakeGeneration>(behaviour_, num_prompt_tokens, options, &num_running_);
  }

  std::string RenderChat(const std::vector<Message>& messages,
                         ChatTemplateOptions /*template_options*/) const override {
    std::string text;
    for (const Message& message : messages) {
      text += fmt::format("<{}>{}", message.role, message.content);
    }
    return text;
  }

  const Tokenizer& tokenizer() const override { return tokenizer_; }
  const ChatTemplate* chat_template() const override { return nullptr; }
  const GenerationDefaults& defaults() const override { return defaults_; }
  Engine& engine() override { FailCheck("a fake generator has no engine", __FILE__, __LINE__); }
  EngineStats stats() const override {
    EngineStats stats;
    stats.num_requests_running = num_running_;
    stats.seconds_since_last_step = seconds_since_last_step;
    stats.num_prompt_tokens = 40;
    stats.num_cached_tokens = 10;
    return stats;
  }
  int max_model_len() const override { return 4096; }
  bool enable_thinking() const override { return false; }
  const std::string& model_name() const override { return model_name_; }
  std::string Describe() const override { return "fake"; }

 private:
  const FakeBehaviour behaviour_;
  const Tokenizer tokenizer_ = MakeByteTokenizer();
  const GenerationDefaults defaults_;
  const std::string model_name_ = "Qwen3-0.6B";
  std::atomic<int> num_running_{0};
  mutable std::mutex mutex_;
  GenerateOptions last_options_;
};

}  // namespace whinchat
