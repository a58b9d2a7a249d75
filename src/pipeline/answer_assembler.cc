// SPDX-License-Identifier: Apache-2.0
#include "pipeline/answer_assembler.h"

#include <utility>

namespace whinchat {

AnswerAssembler::AnswerAssembler(const Tokenizer& tokenizer,
                                 const GenerateOptions& options,
                                 bool starts_in_reasoning)
    : detokenizer_(tokenizer, options.skip_special_tokens),
      reasoning_(starts_in_reasoning),
      stop_(options.stop, options.include_stop_str_in_output),
      separate_reasoning_(options.separate_reasoning),
      wants_logprobs_(options.sampling.num_logprobs.has_value()),
      min_tokens_(options.sampling.min_tokens) {}

GenerationDelta AnswerAssembler::Append(const SampledToken& token) {
  ++num_tokens_;
  if (wants_logprobs_) {
    pending_logprobs_.push_back(token);
  }
  const std::string text = detokenizer_.Append(token.token_id);
  const bool was_in_reasoning = reasoning_.is_in_reasoning();
  const ReasoningDelta split = reasoning_.Append(text);
  // The tags count as thought: they cost tokens too.
  num_reasoning_tokens_ += was_in_reasoning || reasoning_.is_in_reasoning() ? 1 : 0;
  GenerationDelta delta;
  AddText(text, split, &delta);
  if (!IsEmpty(delta) || matched_stop()) {
    AttachLogprobs(&delta);
  }
  return delta;
}

GenerationDelta AnswerAssembler::Finish() {
  GenerationDelta delta;
  const std::string text = detokenizer_.Flush();
  AddText(text, reasoning_.Append(text), &delta);
  AddText({}, reasoning_.Flush(), &delta);
  delta.content += stop_.Flush();
  AttachLogprobs(&delta);
  return delta;
}

void AnswerAssembler::AddText(std::string_view text,
                              const ReasoningDelta& split,
                              GenerationDelta* delta) {
  if (separate_reasoning_) {
    delta->reasoning_content += split.reasoning;
    delta->content += ScanForStop(split.content);
  } else {
    delta->content += ScanForStop(text);
  }
}

std::string AnswerAssembler::ScanForStop(std::string_view content) {
  return num_tokens_ < min_tokens_ ? std::string(content) : stop_.Append(content);
}

void AnswerAssembler::AttachLogprobs(GenerationDelta* delta) {
  for (SampledToken& token : std::exchange(pending_logprobs_, {})) {
    delta->logprobs.push_back(std::move(token));
  }
}

bool IsEmpty(const GenerationDelta& delta) {
  return delta.content.empty() && delta.reasoning_content.empty();
}

}  // namespace whinchat
