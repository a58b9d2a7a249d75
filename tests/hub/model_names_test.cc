// SPDX-License-Identifier: Apache-2.0
#include "hub/model_names.h"

#include <gtest/gtest.h>

namespace whinchat {
namespace {

TEST(CanonicalModelName, DropsOwnerStorageAndCase) {
  EXPECT_EQ(CanonicalModelName("Qwen/Qwen3-0.6B-GGUF"), "qwen3-0.6b");
  EXPECT_EQ(CanonicalModelName("qwen3:0_6b-int8"), "qwen3-0.6b");
  EXPECT_EQ(CanonicalModelName("Llama-3.2-1B-Instruct-Q4_K_M.gguf"), "llama-3.2-1b-instruct");
  EXPECT_EQ(CanonicalModelName("phi-4"), "phi-4");
  EXPECT_EQ(CanonicalModelName("int8"), "int8");
  EXPECT_EQ(CanonicalModelName(""), "");
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
