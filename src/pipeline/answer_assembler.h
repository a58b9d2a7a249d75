// SPDX-License-Identifier: Apache-2.0
// Tokens of one answer to its text: detokenizer, thought, stop strings, counts. Knows no engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chat/reasoning_parser.h"
#include "pipeline/stop_strings.h"
#include "pipeline/text_generator.h"
#include "tokenizer/detokenizer.h"

namespace whinchat {

class AnswerAssembler {
 public:
  // `tokenizer` must outlive this. Throws Error{kInvalidArgument} on an empty stop string.
  AnswerAssembler(const Tokenizer& tokenizer,
                  const GenerateOptions& options,
                  bool starts_in_reasoning);

  // The text that is certain after this token; often none. Without finish_reason.
  GenerationDelta Append(const SampledToken& token);
  // What was held back, after the last token.
  GenerationDelta Finish();

  // The stop string that was found: the answer is over.
  const std::optional<std::string>& matched_stop() const { return stop_.matched(); }

  int num_tokens() const { return num_tokens_; }
  int num_reasoning_tokens() const { return num_reasoning_tokens_; }

 private:
  // Sorts text into thought and answer.
  void AddText(std::string_view text, const ReasoningDelta& split, GenerationDelta* delta);
  std::string ScanForStop(std::string_view content);
  void AttachLogprobs(GenerationDelta* delta);

  StreamingDetokenizer detokenizer_;
  ReasoningParser reasoning_;
  StopStringMatcher stop_;
  const bool separate_reasoning_;
  const bool wants_logprobs_;
  const int min_tokens_;  // stop strings count after that many
  int num_tokens_ = 0;
  int num_reasoning_tokens_ = 0;
  std::vector<SampledToken> pending_logprobs_;  // of tokens whose text is held back
};

// Whether the piece says anything.
bool IsEmpty(const GenerationDelta& delta);

}  // namespace whinchat
