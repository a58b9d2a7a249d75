// SPDX-License-Identifier: Apache-2.0
#include "chat/reasoning_parser.h"

#include <gtest/gtest.h>

namespace whinchat {
namespace {

struct Split {
  std::string reasoning;
  std::string content;
  bool operator==(const Split&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Split& split) {
  return stream << '[' << split.reasoning << "][" << split.content << ']';
}

// Feeds `text` in pieces of `piece_size` bytes.
Split Parse(std::string_view text, size_t piece_size, bool starts_in_reasoning = false) {
  ReasoningParser parser(starts_in_reasoning);
  Split split;
  const auto add = [&](const ReasoningDelta& delta) {
    split.reasoning += delta.reasoning;
    split.content += delta.content;
  };
  for (size_t i = 0; i < text.size(); i += piece_size) {
    add(parser.Append(text.substr(i, piece_size)));
  }
  add(parser.Flush());
  return split;
}

void ExpectSplit(std::string_view text, const Split& expected, bool starts_in_reasoning = false) {
  for (size_t piece_size = 1; piece_size <= text.size() + 1; ++piece_size) {
    EXPECT_EQ(Parse(text, piece_size, starts_in_reasoning), expected)
        << text << " in pieces of " << piece_size;
  }
}

TEST(ReasoningParser, SplitsThoughtFromAnswerWhereverTheTextIsCut) {
  ExpectSplit("<think>\nLet me see.\n\nYes.\n</think>\n\nParis.\n",
              {"Let me see.\n\nYes.", "Paris.\n"});
  ExpectSplit(" \n<think>a</think>b", {"a", "b"});
}

TEST(ReasoningParser, AnEmptyThoughtGivesNoReasoning) {
  ExpectSplit("<think>\n\n</think>\n\nParis.", {"", "Paris."});
}

TEST(ReasoningParser, TextWithoutAThoughtIsKeptAsItIs) {
  ExpectSplit("  Paris </think> <think>no</think>", {"", "  Paris </think> <think>no</think>"});
  ExpectSplit("<thin", {"", "<thin"});
  ExpectSplit(" \n", {"", " \n"});
}

TEST(ReasoningParser, APromptThatOpenedTheThoughtStartsInIt) {
  ExpectSplit("\nHm.\n</think>\n\nParis.", {"Hm.", "Paris."}, /*starts_in_reasoning=*/true);
  ExpectSplit("<think>\nHm.</think>Paris.", {"Hm.", "Paris."}, /*starts_in_reasoning=*/true);
}

TEST(ReasoningParser, AThoughtThatNeverEndsIsReasoningTagLookAlikesIncluded) {
  ExpectSplit("<think>a </thin b </", {"a </thin b </", ""});
}

TEST(ReasoningParser, TellsWhetherItIsInAThought) {
  ReasoningParser parser(/*starts_in_reasoning=*/false);
  EXPECT_FALSE(parser.is_in_reasoning());
  parser.Append("<think>x");
  EXPECT_TRUE(parser.is_in_reasoning());
  parser.Append("</think>");
  EXPECT_FALSE(parser.is_in_reasoning());
}

TEST(ReasoningParser, StreamsWithoutHoldingBackMoreThanATag) {
  ReasoningParser parser(/*starts_in_reasoning=*/false);
  EXPECT_EQ(parser.Append("<think>one").reasoning, "one");
  EXPECT_EQ(parser.Append(" two ").reasoning, " two");
  EXPECT_EQ(parser.Append("</thi").reasoning, "");
  EXPECT_EQ(parser.Append("s").reasoning, " </this");
}

TEST(EndsInsideReasoning, SeesAnOpenThoughtAtTheEndOnly) {
  EXPECT_TRUE(EndsInsideReasoning("<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(EndsInsideReasoning("<|im_start|>assistant\n<think>\nSo far so good"));
  EXPECT_FALSE(EndsInsideReasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(EndsInsideReasoning("<|im_start|>assistant\n"));
  EXPECT_FALSE(EndsInsideReasoning(""));
}

TEST(EndsInsideReasoning, IgnoresATagThatAPersonWrote) {
  EXPECT_FALSE(
      EndsInsideReasoning("<|im_start|>user\nwhat is <think>?<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_FALSE(EndsInsideReasoning("<｜User｜><think>?<｜Assistant｜>"));
  EXPECT_FALSE(EndsInsideReasoning("[INST] <think> [/INST]"));
}

}  // namespace
}  // namespace whinchat
