// SPDX-License-Identifier: Apache-2.0
#include "api/chat_answer.h"

#include <utility>

#include "api/json_reader.h"
#include "api/logprobs_format.h"
#include "api/sse.h"

namespace whinchat {

using nlohmann::ordered_json;

namespace {

ordered_json ToolCallJson(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

}  // namespace

ChatAnswer::ChatAnswer(AnswerIdentity identity, const ChatRequest& request, TokenTextFn token_text)
    : identity_(std::move(identity)),
      stream_options_(request.stream_options),
      include_reasoning_(request.include_reasoning),
      include_logprobs_(request.include_logprobs),
      has_tools_(!request.template_options.tools.empty()),
      token_text_(std::move(token_text)),
      choices_(static_cast<size_t>(request.num_choices)) {}

std::string ChatAnswer::Chunk(ordered_json choice, const Usage& usage) const {
  ordered_json chunk = {{"id", identity_.id},
                        {"object", "chat.completion.chunk"},
                        {"created", identity_.created},
                        {"model", identity_.model},
                        {"choices", ordered_json::array({std::move(choice)})}};
  if (stream_options_.continuous_usage_stats) {
    chunk["usage"] = UsageJson(usage);
  } else if (stream_options_.include_usage) {
    chunk["usage"] = nullptr;  // as OpenAI: null on all chunks but the last
  }
  return SseEvent(DumpJson(chunk));
}

std::string ChatAnswer::StreamBegin() {
  std::string events;
  for (size_t i = 0; i < choices_.size(); ++i) {
    events += Chunk({{"index", i},
                     {"delta", {{"role", "assistant"}, {"content", ""}}},
                     {"logprobs", nullptr},
                     {"finish_reason", nullptr}},
                    Usage{});
  }
  return events;
}

ToolCallDelta ChatAnswer::SplitToolCalls(Choice& choice, const GenerationDelta& delta) const {
  if (!has_tools_) {
    return {delta.content, {}};
  }
  ToolCallDelta split = choice.tool_call_parser.Append(delta.content);
  if (delta.finish_reason != FinishReason::kNone) {
    ToolCallDelta rest = choice.tool_call_parser.Flush();
    split.content += rest.content;
    split.tool_calls.insert(split.tool_calls.end(), rest.tool_calls.begin(), rest.tool_calls.end());
  }
  return split;
}

ordered_json ChatAnswer::FinishReasonOf(const Choice& choice, FinishReason reason) {
  const bool is_tool_call = reason == FinishReason::kStop && choice.num_tool_calls > 0;
  return is_tool_call ? ordered_json("tool_calls") : FinishReasonJson(reason);
}

ordered_json ChatAnswer::DeltaJson(Choice& choice, const GenerationDelta& delta) const {
  ordered_json json = ordered_json::object();
  if (include_reasoning_ && !delta.reasoning_content.empty()) {
    json["reasoning_content"] = delta.reasoning_content;
    json["reasoning"] = delta.reasoning_content;
  }
  const ToolCallDelta split = SplitToolCalls(choice, delta);
  if (!split.content.empty()) {
    json["content"] = split.content;
  }
  for (const ToolCall& call : split.tool_calls) {
    ordered_json entry = {{"index", choice.num_tool_calls++}};
    entry.update(ToolCallJson(call));
    json["tool_calls"].push_back(std::move(entry));
  }
  return json;
}

std::string ChatAnswer::StreamDelta(int choice_idx,
                                    const GenerationDelta& delta,
                                    const Usage& usage) {
  std::string events;
  Choice& choice = choices_[static_cast<size_t>(choice_idx)];
  ordered_json delta_json = DeltaJson(choice, delta);
  const bool has_logprobs = include_logprobs_ && !delta.logprobs.empty();
  if (!delta_json.empty() || has_logprobs) {
    ordered_json logprobs = nullptr;
    if (has_logprobs) {
      logprobs = {{"content", ChatLogprobs(delta.logprobs, token_text_)}};
    }
    events += Chunk({{"index", choice_idx},
                     {"delta", std::move(delta_json)},
                     {"logprobs", std::move(logprobs)},
                     {"finish_reason", nullptr}},
                    usage);
  }
  if (delta.finish_reason != FinishReason::kNone) {
    events += Chunk({{"index", choice_idx},
                     {"delta", ordered_json::object()},
                     {"logprobs", nullptr},
                     {"finish_reason", FinishReasonOf(choice, delta.finish_reason)},
                     {"stop_reason", StopReasonJson(delta)}},
                    usage);
  }
  return events;
}

std::string ChatAnswer::StreamEnd(const Usage& usage) {
  std::string events;
  if (stream_options_.include_usage) {
    events = SseEvent(DumpJson({{"id", identity_.id},
                                {"object", "chat.completion.chunk"},
                                {"created", identity_.created},
                                {"model", identity_.model},
                                {"choices", ordered_json::array()},
                                {"usage", UsageJson(usage)}}));
  }
  return events + SseDone();
}

void ChatAnswer::Collect(int choice_idx, const GenerationDelta& delta) {
  Choice& choice = choices_[static_cast<size_t>(choice_idx)];
  ToolCallDelta split = SplitToolCalls(choice, delta);
  choice.content += split.content;
  choice.tool_calls.insert(
      choice.tool_calls.end(), split.tool_calls.begin(), split.tool_calls.end());
  choice.num_tool_calls = static_cast<int>(choice.tool_calls.size());
  choice.reasoning += delta.reasoning_content;
  choice.logprobs.insert(choice.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  if (delta.finish_reason != FinishReason::kNone) {
    choice.finish_reason = FinishReasonOf(choice, delta.finish_reason);
    choice.stop_reason = StopReasonJson(delta);
  }
}

std::string ChatAnswer::Body(const Usage& usage) {
  ordered_json choices = ordered_json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    ordered_json message = {{"role", "assistant"}, {"content", choice.content}};
    if (include_reasoning_ && !choice.reasoning.empty()) {
      message["reasoning_content"] = choice.reasoning;
      message["reasoning"] = choice.reasoning;
    }
    if (!choice.tool_calls.empty()) {
      message["tool_calls"] = ordered_json::array();
      for (const ToolCall& call : choice.tool_calls) {
        message["tool_calls"].push_back(ToolCallJson(call));
      }
      if (choice.content.empty()) {
        message["content"] = nullptr;  // the calls are the answer
      }
    }
    ordered_json logprobs = nullptr;
    if (include_logprobs_) {
      logprobs = {{"content", ChatLogprobs(choice.logprobs, token_text_)}};
    }
    choices.push_back({{"index", i},
                       {"message", std::move(message)},
                       {"logprobs", std::move(logprobs)},
                       {"finish_reason", choice.finish_reason},
                       {"stop_reason", choice.stop_reason}});
  }
  return DumpJson({{"id", identity_.id},
                   {"object", "chat.completion"},
                   {"created", identity_.created},
                   {"model", identity_.model},
                   {"choices", std::move(choices)},
                   {"usage", UsageJson(usage)}});
}

}  // namespace whinchat
