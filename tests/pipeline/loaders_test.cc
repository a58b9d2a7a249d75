// SPDX-License-Identifier: Apache-2.0
// Tokenizers and chat templates from what stands beside weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/chat_template_loader.h"
#include "pipeline/fake_checkpoint.h"
#include "pipeline/tokenizer_loader.h"

namespace whinchat {
namespace {

using testing::HasSubstr;

constexpr const char* kTokenizerJson = R"({
  "version": "1.0",
  "added_tokens": [
    {"id": 3, "content": "<s>", "special": true, "lstrip": false, "rstrip": false,
     "single_word": false, "normalized": false},
    {"id": 4, "content": "</s>", "special": true, "lstrip": false, "rstrip": false,
     "single_word": false, "normalized": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": null,
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
})";

template <typename Action>
void ExpectError(const Action& action, ErrorCode code, const std::string& part) {
  try {
    action();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.message(), HasSubstr(part));
  }
}

TEST(LoadTokenizerSpec, ReadsTokenizerJsonAndItsConfig) {
  const FakeFolder folder(Files{{"tokenizer.json", kTokenizerJson},
                                {"tokenizer_config.json",
                                 R"({"bos_token": {"__type": "AddedToken", "content": "<s>"},
                                "eos_token": "</s>", "add_bos_token": true})"}});
  const TokenizerSpec spec = LoadTokenizerSpec(folder);
  EXPECT_EQ(spec.bos_token_id, 3);
  EXPECT_EQ(spec.eos_token_id, 4);
  EXPECT_TRUE(spec.add_bos);
  EXPECT_EQ(Tokenizer(spec).Encode("ab</s>"), (std::vector<TokenId>{2, 4}));
}

TEST(LoadTokenizerSpec, ANullBosTokenMeansNone) {
  const FakeFolder folder(
      Files{{"tokenizer.json", kTokenizerJson},
            {"tokenizer_config.json",
             R"({"bos_token": null, "eos_token": "</s>", "add_bos_token": false})"}},
      {{"bos_token_id", 0}});
  const TokenizerSpec spec = LoadTokenizerSpec(folder);
  EXPECT_FALSE(spec.bos_token_id);
  EXPECT_FALSE(spec.add_bos);
}

TEST(LoadTokenizerSpec, AFolderWithoutTokenizerJsonSaysWhatToDo) {
  ExpectError([] { LoadTokenizerSpec(FakeFolder(Files{})); },
              ErrorCode::kNotFound,
              "'models/fake/tokenizer.json' is missing");
}

TEST(LoadTokenizerSpec, AConfigThatIsNoObjectIsNamed) {
  ExpectError(
      [] {
        LoadTokenizerSpec(
            FakeFolder(Files{{"tokenizer.json", kTokenizerJson}, {"tokenizer_config.json", "[1"}}));
      },
      ErrorCode::kCorruptFile,
      "models/fake/tokenizer_config.json");
}

TEST(LoadTokenizerSpec, ReadsGgufMetadata) {
  const FakeGguf gguf(Json{{"tokenizer.ggml.model", "gpt2"},
                           {"tokenizer.ggml.pre", "qwen2"},
                           {"tokenizer.ggml.eos_token_id", 2},
                           {"tokenizer.ggml.bos_token_id", 1},
                           {"tokenizer.ggml.add_bos_token", false}},
                      {"a", "b", "c"});
  const TokenizerSpec spec = LoadTokenizerSpec(gguf);
  EXPECT_EQ(spec.vocab, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(spec.eos_token_id, 2);
  EXPECT_EQ(spec.pre_tokenizer, PreTokenizerKind::kQwen2);
  EXPECT_FALSE(spec.add_bos);
}

TEST(LoadTokenizerSpec, GgufWithoutATokenizerIsAnError) {
  EXPECT_THROW(LoadTokenizerSpec(FakeGguf(nlohmann::json::object())), Error);
}

TEST(LoadChatTemplate, ChatTemplateJinjaGoesBeforeTokenizerConfig) {
  const FakeFolder folder(
      Files{{"chat_template.jinja", "from the file"},
            {"tokenizer_config.json", R"({"chat_template": "from the config"})"}});
  EXPECT_EQ(LoadChatTemplate(folder, std::nullopt)->source(), "from the file");
}

TEST(LoadChatTemplate, ReadsOneTextFromTokenizerConfig) {
  const FakeFolder folder(
      Files{{"tokenizer_config.json", R"({"chat_template": "from the config"})"}});
  EXPECT_EQ(LoadChatTemplate(folder, std::nullopt)->source(), "from the config");
}

TEST(LoadChatTemplate, TakesTheDefaultOfNamedTemplates) {
  const FakeFolder named(Files{{"tokenizer_config.json", R"({"chat_template": [
      {"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}, 7]})"}});
  EXPECT_EQ(LoadChatTemplate(named, std::nullopt)->source(), "D");
  const FakeFolder other(Files{{"tokenizer_config.json", R"({"chat_template": [
      {"name": "rag", "template": "R"}, {"name": "tool_use", "template": "T"}]})"}});
  EXPECT_EQ(LoadChatTemplate(other, std::nullopt)->source(), "R");
}

TEST(LoadChatTemplate, ReadsGgufMetadata) {
  EXPECT_EQ(
      LoadChatTemplate(FakeGguf(Json{{"tokenizer.chat_template", "G"}}), std::nullopt)->source(),
      "G");
}

TEST(LoadChatTemplate, ABaseModelHasNone) {
  EXPECT_EQ(LoadChatTemplate(FakeFolder(Files{}), std::nullopt), nullptr);
  EXPECT_EQ(LoadChatTemplate(FakeGguf(nlohmann::json::object()), std::nullopt), nullptr);
  EXPECT_EQ(
      LoadChatTemplate(FakeFolder(Files{{"tokenizer_config.json", R"({"chat_template": []})"}}),
                       std::nullopt),
      nullptr);
}

TEST(LoadChatTemplate, TheUsersOwnTemplateGoesBeforeAll) {
  const FakeFolder folder(Files{{"chat_template.jinja", "from the file"}});
  EXPECT_EQ(LoadChatTemplate(folder, "mine")->source(), "mine");
}

TEST(LoadChatTemplate, ABrokenTemplateTellsItsFileAndLine) {
  ExpectError(
      [] {
        LoadChatTemplate(FakeFolder(Files{{"chat_template.jinja", "\n{% if %}"}}), std::nullopt);
      },
      ErrorCode::kCorruptFile,
      "models/fake/chat_template.jinja, line 2");
  ExpectError(
      [] { LoadChatTemplate(FakeGguf(Json{{"tokenizer.chat_template", "{{"}}), std::nullopt); },
      ErrorCode::kCorruptFile,
      "chat_template of models/fake.gguf, line 1");
}

}  // namespace
}  // namespace whinchat
