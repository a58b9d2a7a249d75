// SPDX-License-Identifier: Apache-2.0
#include "api/tokenize_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/expect_api_error.h"

namespace whinchat {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

RequestDefaults Defaults() {
  RequestDefaults defaults;
  defaults.vocab_size = 100;
  return defaults;
}

TEST(TokenizeRequest, TextGetsSpecialTokensAndAConversationDoesNot) {
  const TokenizeRequest text = ParseTokenizeRequest(R"({"prompt":"hi"})", Defaults());
  EXPECT_EQ(text.prompt, "hi");
  EXPECT_TRUE(text.add_special_tokens);
  const TokenizeRequest chat = ParseTokenizeRequest(
      R"({"messages":[{"role":"user","content":"hi"}],"add_generation_prompt":false,
          "return_token_strs":true})",
      Defaults());
  EXPECT_FALSE(chat.prompt.has_value());
  EXPECT_EQ(chat.messages.size(), 1U);
  EXPECT_FALSE(chat.add_special_tokens);
  EXPECT_FALSE(chat.template_options.add_generation_prompt);
  EXPECT_TRUE(chat.return_token_strs);
}

TEST(TokenizeRequest, NeedsOneOfBoth) {
  EXPECT_EQ(RefusalOf([] { ParseTokenizeRequest("{}", Defaults()); }).param, "prompt");
  EXPECT_EQ(RefusalOf([] { ParseTokenizeRequest(R"({"prompt":5})", Defaults()); }).param, "prompt");
}

TEST(DetokenizeRequest, TakesIdsOfTheVocabularyOnly) {
  EXPECT_THAT(ParseDetokenizeRequest(R"({"tokens":[0,99]})", Defaults()).tokens,
              ElementsAre(0, 99));
  for (const char* body : {"{}",
                           R"({"tokens":5})",
                           R"({"tokens":["a"]})",
                           R"({"tokens":[100]})",
                           R"({"tokens":[-1]})",
                           R"({"tokens":[1.5]})",
                           R"({"tokens":[18446744073709551615]})"}) {
    EXPECT_EQ(RefusalOf([&] { ParseDetokenizeRequest(body, Defaults()); }).param, "tokens") << body;
  }
}

TEST(TokenizeBody, HasVllmsShape) {
  EXPECT_EQ(
      json::parse(TokenizeBody({1, 2}, 8192, {})),
      (json{{"count", 2}, {"max_model_len", 8192}, {"tokens", {1, 2}}, {"token_strs", nullptr}}));
  const json with_strings =
      json::parse(TokenizeBody({1}, 8192, [](TokenId) { return std::string("a"); }));
  EXPECT_EQ(with_strings["token_strs"], (json{"a"}));
  EXPECT_EQ(json::parse(DetokenizeBody("a\xff"))["prompt"], "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace whinchat
