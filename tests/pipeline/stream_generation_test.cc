// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stream_generation.h"

#include <gtest/gtest.h>

#include "pipeline/fake_checkpoint.h"

namespace whinchat {
namespace {

class StreamGenerationTest : public testing::Test {
 protected:
  void PushText(std::string_view text) {
    for (const char c : text) {
      TokenOutput output;
      output.has_token = true;
      output.token.token_id = static_cast<uint8_t>(c);
      output.num_cached_tokens = 32;
      stream_->Push(output);
    }
  }
  void PushEnd(FinishReason reason, TokenId stop_token_id = -1) {
    TokenOutput output;
    output.finish_reason = reason;
    output.stop_token_id = stop_token_id;
    output.timings.total_ms = 7;
    output.error_message = "a fault";
    stream_->Push(output);
  }
  std::unique_ptr<StreamGeneration> Make() {
    return std::make_unique<StreamGeneration>(stream_,
                                              tokenizer_,
                                              options_,
                                              /*starts_in_reasoning=*/false,
                                              /*num_prompt_tokens=*/40);
  }

  Tokenizer tokenizer_{MakeByteTokenizerSpec()};
  std::shared_ptr<TokenStream> stream_ = std::make_shared<TokenStream>();
  GenerateOptions options_;
};

TEST_F(StreamGenerationTest, GivesPiecesThenTheEndThenNothing) {
  const auto generation = Make();
  PushText("ok");
  PushEnd(FinishReason::kStop, 3);
  EXPECT_EQ(generation->Next()->content, "o");
  EXPECT_EQ(generation->Next()->content, "k");
  EXPECT_FALSE(generation->is_finished());
  const std::optional<GenerationDelta> end = generation->Next();
  EXPECT_EQ(end->finish_reason, FinishReason::kStop);
  EXPECT_EQ(end->stop_reason, "");
  EXPECT_TRUE(generation->is_finished());
  EXPECT_FALSE(generation->Next());
  EXPECT_EQ(generation->usage().num_prompt_tokens, 40);
  EXPECT_EQ(generation->usage().num_completion_tokens, 2);
  EXPECT_EQ(generation->usage().num_cached_tokens, 32);
  EXPECT_EQ(generation->timings().total_ms, 7);
}

TEST_F(StreamGenerationTest, TryNextNeverWaits) {
  const auto generation = Make();
  EXPECT_FALSE(generation->TryNext());
  PushText("a");
  EXPECT_EQ(generation->TryNext()->content, "a");
  EXPECT_FALSE(generation->TryNext());
  EXPECT_FALSE(generation->is_finished());
}

TEST_F(StreamGenerationTest, AStopStringEndsItAndCancelsTheRequest) {
  options_.stop = {"b"};
  const auto generation = Make();
  PushText("abc");
  EXPECT_EQ(generation->Next()->content, "a");
  const std::optional<GenerationDelta> end = generation->Next();
  EXPECT_EQ(end->finish_reason, FinishReason::kStop);
  EXPECT_EQ(end->stop_reason, "b");
  EXPECT_TRUE(stream_->is_cancelled());
  EXPECT_FALSE(generation->Next());
}

TEST_F(StreamGenerationTest, TextHeldBackComesWithTheEnd) {
  options_.stop = {"stop"};
  const auto generation = Make();
  PushText("st");
  PushEnd(FinishReason::kLength);
  const std::optional<GenerationDelta> end = generation->Next();
  EXPECT_EQ(end->content, "st");
  EXPECT_EQ(end->finish_reason, FinishReason::kLength);
}

TEST_F(StreamGenerationTest, ALastTokenAndTheEndMayComeTogether) {
  const auto generation = Make();
  TokenOutput output;
  output.has_token = true;
  output.token.token_id = 'x';
  output.finish_reason = FinishReason::kLength;
  stream_->Push(output);
  const std::optional<GenerationDelta> end = generation->Next();
  EXPECT_EQ(end->content, "x");
  EXPECT_EQ(end->finish_reason, FinishReason::kLength);
}

TEST_F(StreamGenerationTest, AStopTokenOfTheRequestIsNamed) {
  options_.sampling.stop_token_ids = {'!'};
  const auto generation = Make();
  PushEnd(FinishReason::kStop, '!');
  EXPECT_EQ(generation->Next()->stop_reason, "!");
}

TEST_F(StreamGenerationTest, AnEngineFaultIsThrown) {
  const auto generation = Make();
  PushEnd(FinishReason::kError);
  EXPECT_THROW(generation->Next(), Error);
  EXPECT_TRUE(generation->is_finished());
}

TEST_F(StreamGenerationTest, DestroyingItCancels) {
  {
    const auto generation = Make();
  }
  EXPECT_TRUE(stream_->is_cancelled());
}

TEST_F(StreamGenerationTest, WakesTheReader) {
  const auto generation = Make();
  int num_wakes = 0;
  generation->SetWake([&] { ++num_wakes; });
  PushText("ab");
  EXPECT_EQ(num_wakes, 2);
}

}  // namespace
}  // namespace whinchat
