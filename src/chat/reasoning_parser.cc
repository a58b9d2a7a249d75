// SPDX-License-Identifier: Apache-2.0
#include "chat/reasoning_parser.h"

#include <array>
#include <utility>

#include "chat/tag_scanner.h"

namespace whinchat {
namespace {

constexpr std::string_view kOpenTag = "<think>";
constexpr std::string_view kCloseTag = "</think>";

// Marks of a turn's end or start in the templates this program knows: after one of them, an earlier
// "<think>" was something a person wrote.
constexpr std::array<std::string_view, 5> kTurnMarks = {
    "<|", "<｜", "<end_of_turn>", "[/INST]", "</s>"};

}  // namespace

ReasoningParser::ReasoningParser(bool starts_in_reasoning)
    : state_(starts_in_reasoning ? State::kReasoning : State::kStart) {}

ReasoningDelta ReasoningParser::Append(std::string_view text) {
  held_ += text;
  ReasoningDelta delta;
  bool may_go_on = true;
  while (may_go_on) {
    switch (state_) {
      case State::kStart:
        may_go_on = TakeStart();
        break;
      case State::kReasoning:
        may_go_on = TakeReasoning(&delta);
        break;
      case State::kAfterReasoning:
        may_go_on = TakeSpace();
        break;
      case State::kContent:
        delta.content += std::exchange(held_, {});
        may_go_on = false;
        break;
    }
  }
  return delta;
}

ReasoningDelta ReasoningParser::Flush() {
  ReasoningDelta delta;
  std::string rest = std::exchange(held_, {});
  if (state_ == State::kReasoning) {
    delta.reasoning = std::move(rest);
  } else if (state_ != State::kAfterReasoning) {
    delta.content = std::move(rest);
  }
  return delta;
}

bool ReasoningParser::TakeStart() {
  const std::string_view text = TrimLeft(held_);
  if (text.starts_with(kOpenTag)) {
    held_.erase(0, held_.size() - text.size() + kOpenTag.size());
    state_ = State::kReasoning;
    return true;
  }
  if (kOpenTag.starts_with(text)) {
    return false;
  }
  state_ = State::kContent;
  return true;
}

bool ReasoningParser::TakeReasoning(ReasoningDelta* delta) {
  if (is_at_start_of_reasoning_) {
    std::string_view text = TrimLeft(held_);
    // Some models open the thought that their template has opened already.
    if (text.starts_with(kOpenTag)) {
      text = TrimLeft(text.substr(kOpenTag.size()));
    }
    held_ = std::string(text);
    if (kOpenTag.starts_with(held_)) {
      return false;
    }
    is_at_start_of_reasoning_ = false;
  }
  const size_t close = held_.find(kCloseTag);
  if (close != std::string::npos) {
    delta->reasoning += TrimRight(std::string_view(held_).substr(0, close));
    held_.erase(0, close + kCloseTag.size());
    state_ = State::kAfterReasoning;
    return true;
  }
  const std::string_view certain =
      std::string_view(held_).substr(0, held_.size() - PartialTagSize(held_, kCloseTag));
  const size_t taken = TrimRight(certain).size();
  delta->reasoning += held_.substr(0, taken);
  held_.erase(0, taken);
  return false;
}

bool ReasoningParser::TakeSpace() {
  held_ = std::string(TrimLeft(held_));
  if (held_.empty()) {
    return false;
  }
  state_ = State::kContent;
  return true;
}

bool EndsInsideReasoning(std::string_view prompt) {
  const size_t open = prompt.rfind(kOpenTag);
  if (open == std::string_view::npos) {
    return false;
  }
  const std::string_view thought = prompt.substr(open + kOpenTag.size());
  if (thought.find(kCloseTag) != std::string_view::npos) {
    return false;
  }
  for (std::string_view mark : kTurnMarks) {
    if (thought.find(mark) != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace whinchat
