// SPDX-License-Identifier: Apache-2.0
// The answer of /v1/chat/completions: "chat.completion" or a stream of "chat.completion.chunk".
// The thought is written as `reasoning_content` and as `reasoning`, for clients know one or the
// other. Content is never null when there is an answer.
#pragma once

#include <string>
#include <vector>

#include "api/answer.h"
#include "api/chat_request.h"
#include "api/tokenize_request.h"
#include "chat/tool_call_parser.h"

namespace whinchat {

class ChatAnswer final : public Answer {
 public:
  // Keeps what it needs of `request`.
  ChatAnswer(AnswerIdentity identity, const ChatRequest& request, TokenTextFn token_text);

  std::string StreamBegin() override;
  std::string StreamDelta(int choice_idx,
                          const GenerationDelta& delta,
                          const Usage& usage) override;
  std::string StreamEnd(const Usage& usage) override;
  void Collect(int choice_idx, const GenerationDelta& delta) override;
  std::string Body(const Usage& usage) override;

 private:
  struct Choice {
    ToolCallParser tool_call_parser;
    int num_tool_calls = 0;
    std::string content;
    std::string reasoning;
    std::vector<ToolCall> tool_calls;
    std::vector<SampledToken> logprobs;
    nlohmann::ordered_json finish_reason;
    nlohmann::ordered_json stop_reason;
  };

  // What of the piece is content and what are calls; all content where the request has no tools.
  ToolCallDelta SplitToolCalls(Choice& choice, const GenerationDelta& delta) const;
  static nlohmann::ordered_json FinishReasonOf(const Choice& choice, FinishReason reason);
  // One event with one choice. `usage` is written where the stream carries it all along.
  std::string Chunk(nlohmann::ordered_json choice, const Usage& usage) const;
  nlohmann::ordered_json DeltaJson(Choice& choice, const GenerationDelta& delta) const;

  AnswerIdentity identity_;
  StreamOptions stream_options_;
  bool include_reasoning_;
  bool include_logprobs_;
  bool has_tools_;
  TokenTextFn token_text_;
  std::vector<Choice> choices_;
};

}  // namespace whinchat
