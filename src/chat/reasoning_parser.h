// SPDX-License-Identifier: Apache-2.0
// Splits a stream of answer text into thought and answer at "<think>" and "</think>".
#pragma once

#include <string>
#include <string_view>

namespace whinchat {

struct ReasoningDelta {
  std::string reasoning;
  std::string content;
};

class ReasoningParser {
 public:
  // `starts_in_reasoning`: the rendered prompt itself ends inside an open "<think>".
  explicit ReasoningParser(bool starts_in_reasoning);

  // Text may be cut anywhere, inside a tag too. White space around the tags is dropped.
  ReasoningDelta Append(std::string_view text);
  ReasoningDelta Flush();

  bool is_in_reasoning() const { return state_ == State::kReasoning; }

 private:
  enum class State { kStart, kReasoning, kAfterReasoning, kContent };

  State state_;
  std::string held_;  // may become a tag, or white space before one
};

// Whether a rendered prompt ends inside an open thought.
bool EndsInsideReasoning(std::string_view prompt);

}  // namespace whinchat
