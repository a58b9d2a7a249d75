// SPDX-License-Identifier: Apache-2.0
#include "pipeline/answer_assembler.h"

#include <gtest/gtest.h>

#include "pipeline/fake_checkpoint.h"

namespace whinchat {
namespace {

struct Answer {
  std::string content;
  std::string reasoning;
  size_t num_logprobs = 0;
};

class AnswerAssemblerTest : public testing::Test {
 protected:
  // One token a byte; stops as a Generation does.
  Answer Assemble(std::string_view text, bool starts_in_reasoning = false) {
    AnswerAssembler assembler(tokenizer_, options_, starts_in_reasoning);
    Answer answer;
    const auto add = [&](const GenerationDelta& delta) {
      answer.content += delta.content;
      answer.reasoning += delta.reasoning_content;
      answer.num_logprobs += delta.logprobs.size();
    };
    for (const char c : text) {
      add(assembler.Append({.token_id = static_cast<uint8_t>(c)}));
      if (assembler.matched_stop()) {
        break;
      }
    }
    if (!assembler.matched_stop()) {
      add(assembler.Finish());
    }
    num_tokens_ = assembler.num_tokens();
    num_reasoning_tokens_ = assembler.num_reasoning_tokens();
    matched_stop_ = assembler.matched_stop();
    return answer;
  }

  Tokenizer tokenizer_{MakeByteTokenizerSpec({}, {"<|end|>"})};
  GenerateOptions options_;
  int num_tokens_ = 0;
  int num_reasoning_tokens_ = 0;
  std::optional<std::string> matched_stop_;
};

TEST_F(AnswerAssemblerTest, NeverCutsACharacter) {
  AnswerAssembler assembler(tokenizer_, options_, /*starts_in_reasoning=*/false);
  EXPECT_EQ(assembler.Append({.token_id = 0xE5}).content, "");
  EXPECT_EQ(assembler.Append({.token_id = 0x8C}).content, "");
  EXPECT_EQ(assembler.Append({.token_id = 0x97}).content, "北");
  EXPECT_EQ(assembler.Append({.token_id = 0xE5}).content, "");
  EXPECT_EQ(assembler.Finish().content, "\xef\xbf\xbd");
}

TEST_F(AnswerAssemblerTest, SplitsAndCountsTheThought) {
  const Answer answer = Assemble("<think>ab</think>\n\ncd");
  EXPECT_EQ(answer.reasoning, "ab");
  EXPECT_EQ(answer.content, "cd");
  EXPECT_EQ(num_tokens_, 21);
  // From the token that completes "<think>" to the one that completes "</think>".
  EXPECT_EQ(num_reasoning_tokens_, 11);
}

TEST_F(AnswerAssemblerTest, KeepsTheThoughtInTheContentWhenAskedAndCountsIt) {
  options_.separate_reasoning = false;
  const Answer answer = Assemble("<think>ab</think>\n\ncd");
  EXPECT_EQ(answer.reasoning, "");
  EXPECT_EQ(answer.content, "<think>ab</think>\n\ncd");
  EXPECT_EQ(num_reasoning_tokens_, 11);
}

TEST_F(AnswerAssemblerTest, APromptThatOpenedTheThoughtStartsInIt) {
  const Answer answer = Assemble("ab</think>cd", /*starts_in_reasoning=*/true);
  EXPECT_EQ(answer.reasoning, "ab");
  EXPECT_EQ(answer.content, "cd");
  EXPECT_EQ(num_reasoning_tokens_, 10);
}

TEST_F(AnswerAssemblerTest, AStopStringEndsTheAnswerButNotTheThought) {
  options_.stop = {"b"};
  const Answer answer = Assemble("<think>abc</think>xybz");
  EXPECT_EQ(answer.reasoning, "abc");
  EXPECT_EQ(answer.content, "xy");
  EXPECT_EQ(matched_stop_, "b");
}

TEST_F(AnswerAssemblerTest, AStopStringAcrossTokensIsFound) {
  options_.stop = {"\nUser:"};
  EXPECT_EQ(Assemble("Hi\nUser: x").content, "Hi");
  options_.include_stop_str_in_output = true;
  EXPECT_EQ(Assemble("Hi\nUser: x").content, "Hi\nUser:");
}

TEST_F(AnswerAssemblerTest, StopStringsCountAfterMinTokens) {
  options_.stop = {"a"};
  options_.sampling.min_tokens = 4;
  EXPECT_EQ(Assemble("xaxxxax").content, "xaxxx");
}

TEST_F(AnswerAssemblerTest, EveryTokensLogprobComesOutOnceTextHeldBackOrNot) {
  options_.sampling.num_logprobs = 0;
  options_.stop = {"END"};
  EXPECT_EQ(Assemble("北 <think").num_logprobs, 10U);
  EXPECT_EQ(Assemble("abENDx").num_logprobs, 5U);
  options_.sampling.num_logprobs.reset();
  EXPECT_EQ(Assemble("ab").num_logprobs, 0U);
}

TEST_F(AnswerAssemblerTest, SpecialTokensAreShownOnlyWhenAsked) {
  AnswerAssembler hidden(tokenizer_, options_, /*starts_in_reasoning=*/false);
  EXPECT_EQ(hidden.Append({.token_id = 256}).content, "");
  options_.skip_special_tokens = false;
  AnswerAssembler shown(tokenizer_, options_, /*starts_in_reasoning=*/false);
  EXPECT_EQ(shown.Append({.token_id = 256}).content + shown.Finish().content, "<|end|>");
}

}  // namespace
}  // namespace whinchat
