// SPDX-License-Identifier: Apache-2.0
// The answer of /v1/completions: "text_completion", whole or streamed. With several prompts the
// choices of one prompt stand together: index = prompt * n + choice.
#pragma once

#include <string>
#include <vector>

#include "api/answer.h"
#include "api/completion_request.h"
#include "api/logprobs_format.h"

namespace whinchat {

class CompletionAnswer final : public Answer {
 public:
  // `echo_texts`: for each prompt the text that its choices start with; empty without echo.
  CompletionAnswer(AnswerIdentity identity,
                   const CompletionRequest& request,
                   std::vector<std::string> echo_texts,
                   TokenTextFn token_text);

  std::string StreamBegin() override;
  std::string StreamDelta(int choice_idx,
                          const GenerationDelta& delta,
                          const Usage& usage) override;
  std::string StreamEnd(const Usage& usage) override;
  void Collect(int choice_idx, const GenerationDelta& delta) override;
  std::string Body(const Usage& usage) override;

 private:
  struct Choice {
    std::string text;
    CompletionLogprobs logprobs;
    nlohmann::ordered_json finish_reason;
    nlohmann::ordered_json stop_reason;
  };

  std::string Chunk(nlohmann::ordered_json choice, const Usage& usage) const;
  nlohmann::ordered_json TakeLogprobs(Choice& choice) const;

  AnswerIdentity identity_;
  StreamOptions stream_options_;
  bool include_logprobs_;
  TokenTextFn token_text_;
  std::vector<Choice> choices_;
};

}  // namespace whinchat
