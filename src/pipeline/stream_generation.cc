// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stream_generation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace whinchat {

StreamGeneration::StreamGeneration(std::shared_ptr<TokenStream> stream,
                                   const Tokenizer& tokenizer,
                                   const GenerateOptions& options,
                                   bool starts_in_reasoning,
                                   int num_prompt_tokens)
    : stream_(std::move(stream)),
      tokenizer_(tokenizer),
      stop_token_ids_(options.sampling.stop_token_ids),
      assembler_(tokenizer, options, starts_in_reasoning) {
  usage_.num_prompt_tokens = num_prompt_tokens;
}

StreamGeneration::~StreamGeneration() {
  stream_->SetWake({});
  stream_->Cancel();
}

std::optional<GenerationDelta> StreamGeneration::Next() {
  while (!is_finished_) {
    const std::optional<TokenOutput> output = stream_->Pop();
    if (!output) {
      is_finished_ = true;
      break;
    }
    if (std::optional<GenerationDelta> delta = Handle(*output)) {
      return delta;
    }
  }
  return std::nullopt;
}

std::optional<GenerationDelta> StreamGeneration::TryNext() {
  while (!is_finished_) {
    const std::optional<TokenOutput> output = stream_->TryPop();
    if (!output) {
      break;
    }
    if (std::optional<GenerationDelta> delta = Handle(*output)) {
      return delta;
    }
  }
  return std::nullopt;
}

std::optional<GenerationDelta> StreamGeneration::Handle(const TokenOutput& output) {
  usage_.num_cached_tokens = std::max(usage_.num_cached_tokens, output.num_cached_tokens);
  GenerationDelta delta;
  if (output.has_token) {
    if (assembler_.num_tokens() == 0) {
      timings_.first_token_ms = MillisecondsSinceStart();
    }
    delta = assembler_.Append(output.token);
    if (assembler_.matched_stop()) {
      EndByStopString(&delta);
      return delta;
    }
  }
  if (output.finish_reason == FinishReason::kNone) {
    return IsEmpty(delta) ? std::nullopt : std::optional(std::move(delta));
  }
  is_finished_ = true;
  timings_ = output.timings;
  if (output.finish_reason == FinishReason::kError) {
    throw Error(ErrorCode::kInternal, output.error_message);
  }
  GenerationDelta rest = assembler_.Finish();
  delta.content += rest.content;
  delta.reasoning_content += rest.reasoning_content;
  std::move(rest.logprobs.begin(), rest.logprobs.end(), std::back_inserter(delta.logprobs));
  delta.finish_reason = output.finish_reason;
  if (assembler_.matched_stop()) {
    EndByStopString(&delta);
  } else if (output.finish_reason == FinishReason::kStop) {
    delta.stop_reason = StopTokenName(output.stop_token_id);
  }
  return delta;
}

// The engine does not know stop strings: it is told to drop the request.
void StreamGeneration::EndByStopString(GenerationDelta* delta) {
  stream_->Cancel();
  is_finished_ = true;
  timings_.total_ms = MillisecondsSinceStart();
  delta->finish_reason = FinishReason::kStop;
  delta->stop_reason = *assembler_.matched_stop();
}

std::string StreamGeneration::StopTokenName(TokenId token_id) const {
  if (std::find(stop_token_ids_.begin(), stop_token_ids_.end(), token_id) ==
      stop_token_ids_.end()) {
    return {};
  }
  return tokenizer_.Decode(std::array{token_id});
}

Usage StreamGeneration::usage() const {
  Usage usage = usage_;
  usage.num_completion_tokens = assembler_.num_tokens();
  usage.num_reasoning_tokens = assembler_.num_reasoning_tokens();
  return usage;
}

double StreamGeneration::MillisecondsSinceStart() const {
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start_;
  return elapsed.count();
}

}  // namespace whinchat
