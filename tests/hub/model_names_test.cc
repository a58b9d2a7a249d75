// SPDX-License-Identifier: Apache-2.0
#include "hub/model_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whinchat {
namespace {

using testing::ElementsAre;

TEST(ModelNameWords, KeepsFamilyAndSizeOnly) {
  EXPECT_THAT(ModelNameWords("Qwen/Qwen3-0.6B-Q4_K_M.gguf"), ElementsAre("qwen3", "0.6b"));
  EXPECT_THAT(ModelNameWords("qwen3-0_6b-int8"), ElementsAre("qwen3", "0.6b"));
  EXPECT_THAT(ModelNameWords("SmolLM2-135M-Instruct.Q4_1.gguf"), ElementsAre("smollm2", "135m"));
  EXPECT_THAT(ModelNameWords("Llama-3.2-1B-IQ4_XS"), ElementsAre("llama", "3.2", "1b"));
}

TEST(ModelNameMatches, AcceptsTheUsualSpellings) {
  for (const char* name : {"Qwen-0.6B",
                           "Qwen/Qwen3-0.6B",
                           "qwen3:0.6b",
                           "qwen3-0_6b-int8",
                           "QWEN3-0.6B",
                           "Qwen3-0.6B-Q8_0.gguf"}) {
    EXPECT_TRUE(ModelNameMatches(name, "Qwen3-0.6B")) << name;
  }
  EXPECT_TRUE(ModelNameMatches("smollm2:135m", "SmolLM2-135M-Instruct.Q4_1"));
}

TEST(ModelNameMatches, TellsModelsApart) {
  EXPECT_FALSE(ModelNameMatches("Qwen3-1.7B", "Qwen3-0.6B"));
  EXPECT_FALSE(ModelNameMatches("qwen2.5:0.5b", "Qwen3-0.6B"));
  EXPECT_FALSE(ModelNameMatches("gpt-4o", "Qwen3-0.6B"));
  EXPECT_FALSE(ModelNameMatches("Qwen3-Embedding-0.6B", "Qwen3-0.6B"));
  EXPECT_FALSE(ModelNameMatches("q8_0", "Qwen3-0.6B-Q4_0"));
  EXPECT_FALSE(ModelNameMatches("", "Qwen3-0.6B"));
}

}  // namespace
}  // namespace whinchat
