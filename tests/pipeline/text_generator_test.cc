// SPDX-License-Identifier: Apache-2.0
// The whole way from messages to text with a real model, SmolLM2-135M-Instruct.
#include "pipeline/text_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/error.h"

namespace whinchat {
namespace {

using testing::HasSubstr;

struct Answer {
  std::string content;
  std::vector<TokenId> token_ids;
  FinishReason finish_reason = FinishReason::kNone;
  std::string stop_reason;
  Usage usage;
};

Answer Read(std::unique_ptr<Generation> generation) {
  Answer answer;
  while (const std::optional<GenerationDelta> delta = generation->Next()) {
    answer.content += delta->content;
    for (const SampledToken& token : delta->logprobs) {
      answer.token_ids.push_back(token.token_id);
    }
    if (delta->finish_reason != FinishReason::kNone) {
      answer.finish_reason = delta->finish_reason;
      answer.stop_reason = delta->stop_reason;
    }
  }
  answer.usage = generation->usage();
  return answer;
}

// One generator for all tests: loading packs the weights.
class TextGeneratorSmolLm2 : public testing::Test {
 protected:
  static std::filesystem::path ModelPath() {
    return WHINCHAT_TEST_MODELS_DIR "/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
  }
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(ModelPath())) {
      return;
    }
    LoadOptions options;
    options.model_path = ModelPath();
    options.num_threads = 2;
    options.max_model_len = 1024;
    options.max_num_seqs = 4;
    generator_ = TextGenerator::Load(options);
  }
  static void TearDownTestSuite() { generator_.reset(); }

  void SetUp() override {
    if (generator_ == nullptr) {
      GTEST_SKIP() << ModelPath() << " is missing: run tools/fetch_test_models.py";
    }
    options_.sampling.temperature = 0.0F;
    options_.sampling.max_tokens = 24;
  }

  static std::unique_ptr<TextGenerator> generator_;
  GenerateOptions options_;
  const std::vector<Message> question_ = {
      {.role = "user", .content = "What's the capital of France? Answer in one word."}};
};

std::unique_ptr<TextGenerator> TextGeneratorSmolLm2::generator_;

TEST_F(TextGeneratorSmolLm2, KnowsTheCapitalOfFrance) {
  const Answer answer = Read(generator_->GenerateChat(question_, {}, options_));
  EXPECT_THAT(answer.content, HasSubstr("Paris"));
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.stop_reason, "");
  EXPECT_THAT(answer.content, testing::Not(HasSubstr("<|im_end|>")));
}

TEST_F(TextGeneratorSmolLm2, ContinuesText) {
  const Answer answer = Read(generator_->GenerateText("The capital of France is", options_));
  EXPECT_THAT(answer.content, HasSubstr("Paris"));
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength);
  EXPECT_EQ(answer.usage.num_completion_tokens, 24);
  EXPECT_EQ(answer.usage.num_prompt_tokens, 5);
}

TEST_F(TextGeneratorSmolLm2, RendersTheModelsOwnTemplate) {
  EXPECT_EQ(generator_->RenderChat({{.role = "user", .content = "Hi"}}, {}),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            "Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(TextGeneratorSmolLm2, TheSecondTimeThePromptIsCached) {
  const Answer first = Read(generator_->GenerateChat(question_, {}, options_));
  const Answer second = Read(generator_->GenerateChat(question_, {}, options_));
  EXPECT_EQ(second.content, first.content);
  EXPECT_GE(second.usage.num_cached_tokens, 32);
  EXPECT_EQ(second.usage.num_prompt_tokens, first.usage.num_prompt_tokens);
}

TEST_F(TextGeneratorSmolLm2, AStopStringEndsTheAnswer) {
  options_.stop = {"Paris"};
  const Answer answer = Read(generator_->GenerateChat(question_, {}, options_));
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
  EXPECT_EQ(answer.stop_reason, "Paris");
  EXPECT_THAT(answer.content, HasSubstr("capital of France is"));
  EXPECT_THAT(answer.content, testing::Not(HasSubstr("Paris")));
}

TEST_F(TextGeneratorSmolLm2, IgnoreEosGoesOnToMaxTokens) {
  options_.sampling.ignore_eos = true;
  const Answer answer = Read(generator_->GenerateChat(question_, {}, options_));
  EXPECT_EQ(answer.finish_reason, FinishReason::kLength);
  EXPECT_EQ(answer.usage.num_completion_tokens, 24);
}

TEST_F(TextGeneratorSmolLm2, LogprobsCoverEveryToken) {
  options_.sampling.num_logprobs = 2;
  const Answer answer = Read(generator_->GenerateChat(question_, {}, options_));
  EXPECT_EQ(static_cast<int>(answer.token_ids.size()), answer.usage.num_completion_tokens);
  EXPECT_EQ(generator_->tokenizer().Decode(answer.token_ids, /*skip_special_tokens=*/true),
            answer.content);
}

TEST_F(TextGeneratorSmolLm2, ManyThreadsGetTheSameAnswerAsOne) {
  const Answer alone = Read(generator_->GenerateChat(question_, {}, options_));
  std::vector<Answer> answers(6);
  std::vector<std::thread> threads;
  for (Answer& answer : answers) {
    threads.emplace_back([&] { answer = Read(generator_->GenerateChat(question_, {}, options_)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.content, alone.content);
  }
}

TEST_F(TextGeneratorSmolLm2, ContinuesAnAnswerThatWasBegun) {
  std::vector<Message> messages = question_;
  messages.push_back({.role = "assistant", .content = "The capital of France is"});
  ChatTemplateOptions template_options;
  template_options.add_generation_prompt = false;
  template_options.continue_final_message = true;
  const Answer answer = Read(generator_->GenerateChat(messages, template_options, options_));
  EXPECT_TRUE(answer.content.starts_with(" Paris")) << answer.content;
}

TEST_F(TextGeneratorSmolLm2, APromptLongerThanTheContextTellsBothNumbers) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += " word";
  }
  try {
    generator_->GenerateText(text, options_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kContextLengthExceeded);
    EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("2000"), HasSubstr("1024")));
  }
}

TEST_F(TextGeneratorSmolLm2, BadRequestsAreRefusedBeforeTheyAreQueued) {
  options_.stop = {""};
  EXPECT_THROW(generator_->GenerateChat(question_, {}, options_), Error);
  options_.stop.clear();
  options_.sampling.temperature = -1.0F;
  EXPECT_THROW(generator_->GenerateChat(question_, {}, options_), Error);
  EXPECT_THROW(generator_->GenerateChat({}, {}, options_), Error);
  EXPECT_THROW(generator_->GenerateTokens({}, false, options_), Error);
}

TEST_F(TextGeneratorSmolLm2, ADroppedAnswerFreesItsPlace) {
  options_.sampling.max_tokens = 800;
  options_.sampling.ignore_eos = true;
  for (int i = 0; i < 5; ++i) {
    const auto generation = generator_->GenerateChat(question_, {}, options_);
    EXPECT_TRUE(generation->Next());
  }
  options_.sampling.max_tokens = 4;
  EXPECT_EQ(Read(generator_->GenerateChat(question_, {}, options_)).usage.num_completion_tokens, 4);
  for (int i = 0; i < 500 && generator_->stats().num_requests_running > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(generator_->stats().num_requests_running, 0);
}

TEST_F(TextGeneratorSmolLm2, TellsWhatItIs) {
  EXPECT_EQ(generator_->model_name(), "SmolLM2-135M-Instruct.Q4_1");
  EXPECT_EQ(generator_->max_model_len(), 1024);
  EXPECT_NE(generator_->chat_template(), nullptr);
  EXPECT_THAT(generator_->defaults().eos_token_ids, testing::Contains(2));
  EXPECT_THAT(generator_->Describe(),
              testing::AllOf(HasSubstr("SmolLM2-135M-Instruct.Q4_1"),
                             HasSubstr("2 threads"),
                             HasSubstr("context 1024 tokens")));
}

TEST(TextGenerator, AMissingModelIsNotFoundAndNamed) {
  LoadOptions options;
  options.model_path = "/no/such/model.gguf";
  try {
    TextGenerator::Load(options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.message(), HasSubstr("/no/such/model.gguf"));
  }
}

TEST_F(TextGeneratorSmolLm2, ABudgetThatDoesNotHoldTheModelIsAnError) {
  LoadOptions options;
  options.model_path = ModelPath();
  options.memory_bytes = size_t{32} << 20;
  try {
    TextGenerator::Load(options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(error.message(), HasSubstr("32 MiB does not hold"));
  }
}

}  // namespace
}  // namespace whinchat
