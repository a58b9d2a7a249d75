// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generation_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/fake_checkpoint.h"

namespace whinchat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

GenerationDefaults Read(const Checkpoint& checkpoint,
                        std::string_view architecture = "llama",
                        const std::vector<std::string>& special = {}) {
  return ReadGenerationDefaults(
      checkpoint, Tokenizer(MakeByteTokenizerSpec({}, special)), architecture);
}

GenerationDefaults ReadConfig(const std::string& json, std::string_view architecture = "llama") {
  return Read(FakeFolder(Files{{"generation_config.json", json}}), architecture);
}

void ExpectParams(const SamplingParams& params, float temperature, float top_p, int top_k) {
  EXPECT_FLOAT_EQ(params.temperature, temperature);
  EXPECT_FLOAT_EQ(params.top_p, top_p);
  EXPECT_EQ(params.top_k, top_k);
}

TEST(ReadGenerationDefaults, TakesTheModelsOwnValues) {
  const GenerationDefaults defaults = ReadConfig(
      R"({"temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "repetition_penalty": 1.1})");
  ExpectParams(defaults.thinking, 0.5F, 0.9F, 7);
  ExpectParams(defaults.non_thinking, 0.5F, 0.9F, 7);
  EXPECT_FLOAT_EQ(defaults.thinking.min_p, 0.1F);
  EXPECT_FLOAT_EQ(defaults.non_thinking.repetition_penalty, 1.1F);
}

TEST(ReadGenerationDefaults, Qwen3HasValuesForEachThinkingMode) {
  const std::string published =
      R"({"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20})";
  for (const GenerationDefaults& defaults :
       {ReadConfig(published, "qwen3"), ReadConfig("{}", "qwen3")}) {
    ExpectParams(defaults.thinking, 0.6F, 0.95F, 20);
    ExpectParams(defaults.non_thinking, 0.7F, 0.8F, 20);
  }
}

TEST(ReadGenerationDefaults, AQwen3WithOtherValuesKeepsThem) {
  const GenerationDefaults defaults =
      ReadConfig(R"({"temperature": 0.7, "top_p": 0.8, "top_k": 20})", "qwen3");
  ExpectParams(defaults.thinking, 0.7F, 0.8F, 20);
  ExpectParams(defaults.non_thinking, 0.7F, 0.8F, 20);
}

TEST(ReadGenerationDefaults, AModelThatDoesNotSampleIsGreedy) {
  EXPECT_EQ(ReadConfig(R"({"do_sample": false})").thinking.temperature, 0.0F);
}

TEST(ReadGenerationDefaults, AModelThatSaysNothingGetsModestValues) {
  const GenerationDefaults defaults = ReadConfig("{}");
  EXPECT_LT(defaults.non_thinking.temperature, 1.0F);
  EXPECT_GT(defaults.non_thinking.temperature, 0.0F);
  const FakeGguf smollm(Json{{"general.basename", "SmolLM2"}});
  ExpectParams(Read(smollm).non_thinking, 0.2F, 0.9F, 0);
}

TEST(ReadGenerationDefaults, ReadsTheSamplingKeysOfGguf) {
  const FakeGguf gguf(Json{{"general.sampling.temp", 0.3},
                           {"general.sampling.top_k", 5},
                           {"general.sampling.top_p", 0.5}});
  ExpectParams(Read(gguf).thinking, 0.3F, 0.5F, 5);
}

TEST(ReadGenerationDefaults, AThoughtHasTokensOfItsOwn) {
  const GenerationDefaults defaults = ReadConfig("{}", "qwen3");
  EXPECT_EQ(defaults.non_thinking.max_tokens, 1024);
  EXPECT_EQ(defaults.thinking.max_tokens, 1024 + 512);
}

TEST(ReadGenerationDefaults, TheEosSetJoinsEverySource) {
  TokenizerSpec spec = MakeByteTokenizerSpec({}, {"<|im_end|>", "<|endoftext|>", "<|other|>"});
  spec.eos_token_id = 3;
  const GenerationDefaults defaults = ReadGenerationDefaults(
      FakeFolder(
          Files{{"generation_config.json", R"({"eos_token_id": [1, 2, 1, -5, 999999, "x"]})"}},
          {{"eos_token_id", 4}}),
      Tokenizer(spec),
      "qwen3");
  EXPECT_THAT(defaults.eos_token_ids, UnorderedElementsAre(1, 2, 4, 3, 256, 257));
}

TEST(ReadGenerationDefaults, TheEosSetOfGgufHasItsEndOfTurnToo) {
  const FakeGguf gguf(Json{{"tokenizer.ggml.eos_token_id", 1}, {"tokenizer.ggml.eot_token_id", 2}});
  EXPECT_THAT(Read(gguf).eos_token_ids, ElementsAre(1, 2));
}

TEST(ReadGenerationDefaults, ATurnEndThatIsOrdinaryTextEndsNothing) {
  const Tokenizer tokenizer(MakeByteTokenizerSpec({"</s>"}));
  EXPECT_THAT(ReadGenerationDefaults(FakeFolder(Files{}), tokenizer, "llama").eos_token_ids,
              ElementsAre());
}

TEST(ReadGenerationDefaults, ValuesOutOfRangeAreAnErrorThatNamesTheFile) {
  for (const char* json : {R"({"temperature": -1})",
                           R"({"top_p": 1.5})",
                           R"({"top_k": -2})",
                           R"({"repetition_penalty": 0})",
                           "7",
                           "{"}) {
    try {
      ReadConfig(json);
      FAIL() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
      EXPECT_THAT(error.message(), HasSubstr("models/fake/generation_config.json"));
    }
  }
}

}  // namespace
}  // namespace whinchat
