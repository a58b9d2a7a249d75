// SPDX-License-Identifier: Apache-2.0
// Splits a stream of answer text into thought and answer at "<think>" and "</think>". A thought is
// only where a model puts it: at the very start. Later tags are the answer's own text.
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
  // What was held back: an unfinished tag is text after all.
  ReasoningDelta Flush();

  bool is_in_reasoning() const { return state_ == State::kReasoning; }

 private:
  enum class State {
    kStart,           // nothing but white space so far: "<think>" may come
    kReasoning,       // after "<think>"
    kAfterReasoning,  // after "</think>": white space is dropped
    kContent,
  };

  // Each takes what it can from held_ and returns whether the next state may go on with the rest.
  bool TakeStart();
  bool TakeReasoning(ReasoningDelta* delta);
  bool TakeSpace();

  State state_;
  bool is_at_start_of_reasoning_ = true;  // white space and a repeated "<think>" are dropped
  std::string held_;                      // may become a tag, or white space before one
};

// Whether a rendered prompt ends inside an open thought: a last "<think>" with neither "</think>"
// nor the mark of another turn after it.
bool EndsInsideReasoning(std::string_view prompt);

}  // namespace whinchat
