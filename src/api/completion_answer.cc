// SPDX-License-Identifier: Apache-2.0
#include "api/completion_answer.h"

#include <utility>

#include "api/json_reader.h"
#include "api/sse.h"

namespace whinchat {

using nlohmann::ordered_json;

CompletionAnswer::CompletionAnswer(AnswerIdentity identity,
                                   const CompletionRequest& request,
                                   std::vector<std::string> echo_texts,
                                   TokenTextFn token_text)
    : identity_(std::move(identity)),
      stream_options_(request.stream_options),
      include_logprobs_(request.include_logprobs),
      token_text_(std::move(token_text)),
      choices_(request.prompts.size() * static_cast<size_t>(request.num_choices)) {
  const auto choices_per_prompt = static_cast<size_t>(request.num_choices);
  for (size_t i = 0; i < echo_texts.size() * choices_per_prompt; ++i) {
    choices_[i].text = echo_texts[i / choices_per_prompt];
  }
}

std::string CompletionAnswer::Chunk(ordered_json choice, const Usage& usage) const {
  ordered_json chunk = {{"id", identity_.id},
                        {"object", "text_completion"},
                        {"created", identity_.created},
                        {"model", identity_.model},
                        {"choices", ordered_json::array({std::move(choice)})}};
  if (stream_options_.continuous_usage_stats) {
    chunk["usage"] = UsageJson(usage);
  } else if (stream_options_.include_usage) {
    chunk["usage"] = nullptr;
  }
  return SseEvent(DumpJson(chunk));
}

ordered_json CompletionAnswer::TakeLogprobs(Choice& choice) const {
  return include_logprobs_ ? choice.logprobs.Take() : ordered_json(nullptr);
}

std::string CompletionAnswer::StreamBegin() {
  std::string events;
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i].text.empty()) {
      events += Chunk({{"index", i},
                       {"text", choices_[i].text},
                       {"logprobs", nullptr},
                       {"finish_reason", nullptr}},
                      Usage{});
    }
  }
  return events;
}

std::string CompletionAnswer::StreamDelta(int choice_idx,
                                          const GenerationDelta& delta,
                                          const Usage& usage) {
  Choice& choice = choices_[static_cast<size_t>(choice_idx)];
  const bool has_logprobs = include_logprobs_ && !delta.logprobs.empty();
  choice.logprobs.Append(delta.logprobs, token_text_);
  if (delta.content.empty() && !has_logprobs && delta.finish_reason == FinishReason::kNone) {
    return "";
  }
  return Chunk({{"index", choice_idx},
                {"text", delta.content},
                {"logprobs", TakeLogprobs(choice)},
                {"finish_reason", FinishReasonJson(delta.finish_reason)},
                {"stop_reason", StopReasonJson(delta)}},
               usage);
}

std::string CompletionAnswer::StreamEnd(const Usage& usage) {
  std::string events;
  if (stream_options_.include_usage) {
    events = SseEvent(DumpJson({{"id", identity_.id},
                                {"object", "text_completion"},
                                {"created", identity_.created},
                                {"model", identity_.model},
                                {"choices", ordered_json::array()},
                                {"usage", UsageJson(usage)}}));
  }
  return events + SseDone();
}

void CompletionAnswer::Collect(int choice_idx, const GenerationDelta& delta) {
  Choice& choice = choices_[static_cast<size_t>(choice_idx)];
  choice.text += delta.content;
  choice.logprobs.Append(delta.logprobs, token_text_);
  if (delta.finish_reason != FinishReason::kNone) {
    choice.finish_reason = FinishReasonJson(delta.finish_reason);
    choice.stop_reason = StopReasonJson(delta);
  }
}

std::string CompletionAnswer::Body(const Usage& usage) {
  ordered_json choices = ordered_json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    choices.push_back({{"index", i},
                       {"text", choice.text},
                       {"logprobs", TakeLogprobs(choice)},
                       {"finish_reason", choice.finish_reason},
                       {"stop_reason", choice.stop_reason}});
  }
  return DumpJson({{"id", identity_.id},
                   {"object", "text_completion"},
                   {"created", identity_.created},
                   {"model", identity_.model},
                   {"choices", std::move(choices)},
                   {"usage", UsageJson(usage)}});
}

}  // namespace whinchat
