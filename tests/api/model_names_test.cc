// SPDX-License-Identifier: Apache-2.0
#include "api/model_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/expect_api_error.h"
#include "api/model_list.h"

namespace whinchat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelNames, AllSpellingsOfQwen3AreOneModel) {
  const ModelNames names("Qwen3-0.6B", {});
  for (const char* name : {"Qwen-0.6B",
                           "Qwen/Qwen3-0.6B",
                           "qwen3:0.6b",
                           "qwen3-0_6b-int8",
                           "QWEN3-0.6B",
                           "qwen3-0.6b",
                           "Qwen3-0.6B-GGUF",
                           "Qwen/Qwen3-0.6B-GPTQ-Int8",
                           "Qwen3-0.6B-Q4_K_M.gguf",
                           "Qwen3-0.6B-Q8_0.gguf",
                           "unsloth/Qwen3-0.6B-GGUF",
                           "qwen3:0.6b-q4_K_M",
                           ""}) {
    EXPECT_TRUE(names.Matches(name)) << name;
  }
}

TEST(ModelNames, OtherModelsDoNotMatch) {
  const ModelNames names("Qwen3-0.6B", {});
  for (const char* name : {"gpt-4",
                           "Qwen3-1.7B",
                           "Qwen2.5-0.5B",
                           "Qwen2-0.6B",
                           "Qwen3",
                           "0.6B",
                           "Qwen3-0.6B-Base",
                           "Qwen3-0.6",
                           "Qwen3-06B",
                           "/",
                           "llama"}) {
    EXPECT_FALSE(names.Matches(name)) << name;
  }
}

TEST(ModelNames, AFileIsKnownByItsShortName) {
  const ModelNames names("SmolLM2-135M-Instruct.Q4_1", {});
  EXPECT_EQ(names.primary(), "SmolLM2-135M-Instruct.Q4_1");
  for (const char* name : {"SmolLM2-135M-Instruct.Q4_1",
                           "smollm2-135m-instruct",
                           "smollm2:135m",
                           "HuggingFaceTB/SmolLM2-135M-Instruct",
                           "SmolLM-135M"}) {
    EXPECT_TRUE(names.Matches(name)) << name;
  }
  EXPECT_FALSE(names.Matches("SmolLM2-360M-Instruct"));
}

TEST(ModelNames, TheFirstServedNameIsWhatAnswersCarry) {
  const ModelNames names("Qwen3-0.6B", {"assistant", "gpt-3.5-turbo"}, {"helper"});
  EXPECT_EQ(names.primary(), "assistant");
  EXPECT_THAT(names.listed(), ElementsAre("assistant", "gpt-3.5-turbo"));
  for (const char* name : {"assistant", "GPT-3.5-Turbo", "helper", "qwen3:0.6b"}) {
    EXPECT_TRUE(names.Matches(name)) << name;
  }
}

TEST(ModelList, ListsEveryNameWithItsContext) {
  const ModelNames names("Qwen3-0.6B", {"a", "b"});
  const auto body = nlohmann::json::parse(
      ModelListBody(names, {.created = 7, .max_model_len = 8192, .root = "Qwen3-0.6B"}));
  EXPECT_EQ(body["object"], "list");
  ASSERT_EQ(body["data"].size(), 2U);
  EXPECT_EQ(body["data"][0]["id"], "a");
  EXPECT_EQ(body["data"][1]["id"], "b");
  EXPECT_EQ(body["data"][1]["object"], "model");
  EXPECT_EQ(body["data"][1]["max_model_len"], 8192);
  EXPECT_EQ(body["data"][1]["root"], "Qwen3-0.6B");
}

TEST(ModelList, OneModelIsFoundByAnyOfItsNamesOrRefused) {
  const ModelNames names("Qwen3-0.6B", {});
  EXPECT_EQ(nlohmann::json::parse(ModelBody("Qwen/Qwen3-0.6B", names, {}))["id"],
            "Qwen/Qwen3-0.6B");
  const ErrorReply reply = RefusalOf([&] { ModelBody("x", names, {}); });
  EXPECT_EQ(reply.http_status, 404);
  EXPECT_THAT(reply.message, HasSubstr("Qwen3-0.6B"));
}

}  // namespace
}  // namespace whinchat
