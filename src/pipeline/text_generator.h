// SPDX-License-Identifier: Apache-2.0
// Text in, text out: chat template, tokenizer, engine, detokenizer, stop strings, usage.
// Any thread may call any method; a Generation is used by one thread at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "engine/engine.h"
#include "model/model.h"
#include "pipeline/generation_defaults.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

struct LoadOptions {
  std::filesystem::path model_path;
  WeightMode weights = WeightMode::kAuto;
  std::filesystem::path packed_cache_dir;    // empty: no packed cache
  std::optional<std::string> chat_template;  // overrides the model's own
  int num_threads = 0;                 // 0: chosen from the machine (cgroup, affinity, clusters)
  std::optional<int> max_model_len;    // nothing: min(model's, 8192), shrunk to fit memory
  std::optional<size_t> memory_bytes;  // budget; nothing: half of what is free, cgroup honoured
  int max_num_seqs = 8;
  int max_num_batched_tokens = 512;
  int max_num_waiting = 64;
  bool enable_prefix_caching = true;
  bool enable_thinking = false;  // default when a request does not say
  std::function<void(std::string_view stage, double fraction)> on_progress;  // may be empty
  // What the user should know though the model loads; may be empty.
  std::function<void(const std::string& message)> on_warning;
};

// A piece of an answer, or its end.
struct GenerationDelta {
  std::string content;
  std::string reasoning_content;
  std::vector<SampledToken> logprobs;  // of the tokens that became final with this piece
  FinishReason finish_reason = FinishReason::kNone;
  std::string stop_reason;  // the stop string or the name of the stop token, if any
};

struct Usage {
  int num_prompt_tokens = 0;
  int num_completion_tokens = 0;
  int num_reasoning_tokens = 0;
  int num_cached_tokens = 0;
};

struct GenerateOptions {
  SamplingParams sampling;
  std::vector<std::string> stop;  // ends the answer (not the thought, if that is separate)
  bool include_stop_str_in_output = false;
  bool skip_special_tokens = true;
  bool separate_reasoning = true;  // thought into reasoning_content
  std::string cache_salt;
  int priority = 0;
};

// One answer being made. Destroying it cancels it.
class Generation {
 public:
  virtual ~Generation() = default;
  // Blocks; nothing after the delta with a finish_reason. Throws Error on an engine fault.
  virtual std::optional<GenerationDelta> Next() = 0;
  // Never blocks: nothing if no piece is ready (see is_finished()).
  virtual std::optional<GenerationDelta> TryNext() = 0;
  virtual bool is_finished() const = 0;
  virtual void SetWake(TokenStream::WakeFn wake) = 0;
  // Any thread may call it, at any time.
  virtual void Cancel() = 0;
  virtual Usage usage() const = 0;
  virtual RequestTimings timings() const = 0;
};

class TextGenerator {
 public:
  // Opens the checkpoint, tokenizer and template, packs, plans memory, starts the engine.
  static std::unique_ptr<TextGenerator> Load(const LoadOptions& options);
  virtual ~TextGenerator() = default;

  virtual std::unique_ptr<Generation> GenerateChat(const std::vector<Message>& messages,
                                                   const ChatTemplateOptions& template_options,
                                                   const GenerateOptions& options) = 0;
  virtual std::unique_ptr<Generation> GenerateText(std::string_view prompt,
                                                   const GenerateOptions& options) = 0;
  virtual std::unique_ptr<Generation> GenerateTokens(std::vector<TokenId> prompt,
                                                     bool starts_in_reasoning,
                                                     const GenerateOptions& options) = 0;

  // The prompt text of a conversation, with bos/eos filled in.
  virtual std::string RenderChat(const std::vector<Message>& messages,
                                 ChatTemplateOptions template_options) const = 0;

  virtual const Tokenizer& tokenizer() const = 0;
  virtual const ChatTemplate* chat_template() const = 0;  // null: a base model
  virtual const GenerationDefaults& defaults() const = 0;
  virtual Engine& engine() = 0;
  // What the server's health and metrics read; engine().Stats(), unless there is no engine (tests).
  virtual EngineStats stats() const = 0;
  virtual int max_model_len() const = 0;
  // LoadOptions::enable_thinking: what holds when a request does not say.
  virtual bool enable_thinking() const = 0;
  // "SmolLM2-135M-Instruct.Q4_1": base name of the file or folder.
  virtual const std::string& model_name() const = 0;
  // One line for humans: weights, KV, threads, ISA, memory.
  virtual std::string Describe() const = 0;
};

}  // namespace whinchat
