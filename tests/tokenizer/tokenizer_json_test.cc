// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/golden_files.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json SmallFile() {
  return json::parse(R"({
    "added_tokens": [{"id": 5, "content": "<s>", "special": true, "normalized": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "unk_token": null, "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3},
              "merges": ["a b"]}
  })");
}

TokenizerSpec Parse(const json& file) {
  return ParseTokenizerJson(file.dump(), "t.json");
}

void ExpectRefused(std::string_view text, ErrorCode code, const std::string& part) {
  try {
    ParseTokenizerJson(text, "t.json");
    FAIL() << "no error was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(part));
    EXPECT_THAT(error.message(), HasSubstr("t.json"));
  }
}

void ExpectRefused(const json& file, ErrorCode code, const std::string& part) {
  ExpectRefused(std::string_view(file.dump()), code, part);
}

// SmallFile with `pointer` set to `value`.
json With(const char* pointer, json value) {
  json file = SmallFile();
  file[json::json_pointer(pointer)] = std::move(value);
  return file;
}

TEST(TokenizerJson, ReadsEverySection) {
  const TokenizerSpec spec = Parse(SmallFile());
  EXPECT_EQ(spec.pre_tokenizer, PreTokenizerKind::kGpt2);
  EXPECT_THAT(spec.vocab, testing::ElementsAre("a", "b", " ", "ab"));
  EXPECT_THAT(spec.merges, testing::ElementsAre(testing::Pair("a", "b")));
  ASSERT_EQ(spec.added_tokens.size(), 1U);
  EXPECT_TRUE(spec.added_tokens[0].is_special);
  EXPECT_EQ(spec.bos_token_id, 5);
  EXPECT_TRUE(spec.add_bos);
  EXPECT_FALSE(spec.add_eos);
}

TEST(TokenizerJson, ReadsMergesInBothForms) {
  EXPECT_EQ(Parse(With("/model/merges", json::parse(R"([["a", "b"]])"))).merges,
            Parse(SmallFile()).merges);
}

TEST(TokenizerJson, RecognizesEachPreTokenizer) {
  const auto kind_of = [](const char* name) {
    const std::string file_name = std::string(name) + ".json";
    return ParseTokenizerJson(golden::ReadFile(golden::GoldenPath(file_name)), file_name)
        .pre_tokenizer;
  };
  EXPECT_EQ(kind_of("qwen2"), PreTokenizerKind::kQwen2);
  EXPECT_EQ(kind_of("llama3"), PreTokenizerKind::kLlama3);
  EXPECT_EQ(kind_of("gpt2"), PreTokenizerKind::kGpt2);
  EXPECT_EQ(kind_of("smollm"), PreTokenizerKind::kSmolLm);
}

TEST(TokenizerJson, AnUnknownExpressionIsQuoted) {
  const json split = json::parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "\\p{Han}+|x"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})");
  ExpectRefused(With("/pre_tokenizer", split), ErrorCode::kUnsupported, R"('\p{Han}+|x')");
}

TEST(TokenizerJson, WhatItWouldNotDoExactlyIsRefusedByName) {
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"/model/type", R"("Unigram")"},
      {"/model/dropout", "0.1"},
      {"/model/end_of_word_suffix", R"("</w>")"},
      {"/model/continuing_subword_prefix", R"("##")"},
      {"/model/byte_fallback", "true"},
      {"/normalizer", R"({"type": "Lowercase"})"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}]})"},
      {"/pre_tokenizer", R"({"type": "Whitespace"})"},
      {"/pre_tokenizer", "null"},
      {"/pre_tokenizer/use_regex", "false"},
      {"/post_processor", R"({"type": "BertProcessing"})"},
      {"/post_processor/single", R"([{"Sequence": {"id": "A"}}, {"Sequence": {"id": "B"}}])"},
      {"/decoder", R"({"type": "Metaspace"})"},
  };
  for (const auto& [pointer, value] : changes) {
    std::string place(std::string_view(pointer).substr(1));
    std::ranges::replace(place, '/', '.');
    const std::string section = place.substr(0, place.find(".use_regex"));
    ExpectRefused(With(pointer, json::parse(value)), ErrorCode::kUnsupported, section);
  }
}

TEST(TokenizerJson, AFileThatContradictsItselfIsCorrupt) {
  const std::vector<std::tuple<const char*, const char*, const char*>> changes = {
      {"/model", "7", "model must be an object"},
      {"/model", "{}", "model has no vocab"},
      {"/model/vocab", R"({"a": -1})", "gives the token 'a' the id -1"},
      {"/model/vocab", R"({"a": 4000000000})", "over the limit"},
      {"/model/vocab", R"({"a": 0, "b": 0})", "the id 0 to two tokens"},
      {"/model/vocab", R"({"a": "x"})", "gives the token 'a' another value"},
      {"/model/vocab", R"({"a": {}})", "gives the token 'a' an object"},
      {"/model/merges", R"(["ab"])", "model.merges[0] is 'ab'"},
      {"/model/merges", R"(["a b c"])", "model.merges[0] is 'a b c'"},
      {"/model/merges", R"(["a "])", "model.merges[0] has an empty part"},
      {"/model/merges", R"([["a"]])", "model.merges[0] has 1 parts"},
      {"/model/merges", R"([["a", 1]])", "model.merges[0] holds"},
      {"/model/merges", R"([[["a"]]])", "model.merges[0] holds an array"},
      {"/model/unk_token", R"("nope")", "'nope' is not in the vocabulary"},
      {"/added_tokens/0/id", "-3", "added_tokens[0].id must be a token id"},
      {"/added_tokens/0/content", "3", "added_tokens[0].content must be a string"},
      {"/added_tokens/0/special", "3", "added_tokens[0].special must be true or false"},
      {"/added_tokens", "3", "added_tokens must be an array"},
      {"/post_processor/special_tokens", "{}", "names '<s>', which special_tokens lacks"},
      {"/pre_tokenizer/type", "1", "pre_tokenizer.type must be a string"},
  };
  for (const auto& [pointer, value, part] : changes) {
    ExpectRefused(With(pointer, json::parse(value)), ErrorCode::kCorruptFile, part);
  }
}

TEST(TokenizerJson, TextThatIsNoJsonIsCorrupt) {
  ExpectRefused(std::string_view(""), ErrorCode::kCorruptFile, "not valid JSON");
  ExpectRefused(std::string_view("[1, 2]"), ErrorCode::kCorruptFile, "must be an object");
  ExpectRefused(
      std::string_view(std::string(100'000, '[')), ErrorCode::kCorruptFile, "nests deeper");
  const std::string whole = SmallFile().dump();
  for (size_t length = 0; length < whole.size(); ++length) {
    ExpectRefused(
        std::string_view(whole).substr(0, length), ErrorCode::kCorruptFile, "not valid JSON");
  }
}

TEST(ByteLevel, EveryByteSurvivesARoundTrip) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
  }
  EXPECT_EQ(DecodeByteLevel(EncodeByteLevel(bytes)), bytes);
  EXPECT_EQ(EncodeByteLevel(" \n"), "\u0120\u010A");
}

TEST(ByteLevel, ATokenOutsideOfTheAlphabetStandsForItself) {
  EXPECT_EQ(DecodeByteLevel("<|\u0120|>"), "<| |>");
  EXPECT_EQ(DecodeByteLevel("<|\u4E2D\u0120|>"), "<|\u4E2D\u0120|>");
  EXPECT_EQ(DecodeByteLevel("a b"), "a b");
  EXPECT_EQ(DecodeByteLevel("\xFF"), "\xFF");
}

}  // namespace
}  // namespace whinchat
