// SPDX-License-Identifier: Apache-2.0
// A Generation over the token stream of one request.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "engine/token_stream.h"
#include "pipeline/answer_assembler.h"
#include "pipeline/text_generator.h"

namespace whinchat {

class StreamGeneration final : public Generation {
 public:
  // `tokenizer` must outlive this.
  StreamGeneration(std::shared_ptr<TokenStream> stream,
                   const Tokenizer& tokenizer,
                   const GenerateOptions& options,
                   bool starts_in_reasoning,
                   int num_prompt_tokens);
  ~StreamGeneration() override;

  std::optional<GenerationDelta> Next() override;
  std::optional<GenerationDelta> TryNext() override;
  bool is_finished() const override { return is_finished_; }
  void SetWake(TokenStream::WakeFn wake) override { stream_->SetWake(std::move(wake)); }
  void Cancel() override { stream_->Cancel(); }
  Usage usage() const override;
  RequestTimings timings() const override { return timings_; }

 private:
  // Nothing if the output adds no text and does not end the answer.
  std::optional<GenerationDelta> Handle(const TokenOutput& output);
  void EndByStopString(GenerationDelta* delta);
  std::string StopTokenName(TokenId token_id) const;
  double MillisecondsSinceStart() const;

  std::shared_ptr<TokenStream> stream_;
  const Tokenizer& tokenizer_;
  const std::vector<TokenId> stop_token_ids_;  // the request's own, without the model's EOS set
  AnswerAssembler assembler_;
  Usage usage_;  // prompt and cached tokens
  RequestTimings timings_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_finished_ = false;
};

}  // namespace whinchat
