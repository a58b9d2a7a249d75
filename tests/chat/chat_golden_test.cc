// SPDX-License-Identifier: Apache-2.0
// Prompts compared byte for byte with transformers' (made by python/golden/make_chat_golden.py).
// Published templates are not in the repository: tools/fetch_test_models.py gets them, and without
// them that test is skipped; the templates of our own are always tested.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "chat/chat_template.h"

namespace whinchat {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kGolden = WHINCHAT_TEST_DATA_DIR "/golden/chat";
const std::filesystem::path kPublished = WHINCHAT_TEST_MODELS_DIR "/chat_templates";
constexpr int kMaxFailuresShown = 5;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Fnv1a(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) {
    value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", value);
}

// One conversation under one set of options.
struct Case {
  std::string name;
  Json messages;
  ChatTemplateOptions options;
};

std::vector<Case> MakeCases(const Json& conversations, const Json& special_tokens) {
  std::vector<Case> cases;
  for (const Json& conversation : conversations) {
    for (const Json& options_json : conversation["options"]) {
      ChatTemplateOptions options;
      options.kwargs = conversation["kwargs"];
      for (const auto& [key, value] : options_json.items()) {
        if (key == "add_generation_prompt") {
          options.add_generation_prompt = value;
        } else if (key == "continue_final_message") {
          options.continue_final_message = value;
        } else {
          options.kwargs[key] = value;
        }
      }
      if (conversation["tools"].is_array()) {
        options.tools = conversation["tools"];
      }
      options.bos_token = special_tokens["bos_token"];
      options.eos_token = special_tokens["eos_token"];
      cases.push_back({conversation["name"].get<std::string>() + " " + options_json.dump(),
                       conversation["messages"],
                       options});
    }
  }
  return cases;
}

// The prompt, or the error's message.
struct Outcome {
  bool is_error = false;
  std::string text;
};

class ChatGolden : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", /*overwrite=*/1);
    ::tzset();
    const Json golden = Json::parse(ReadText(kGolden / "conversations.json"));
    conversations_ = golden["conversations"];
    now_unix_seconds_ = golden["now_unix_seconds"];
  }

  Outcome Run(const ChatTemplate& chat_template, Case one_case) const {
    one_case.options.now_unix_seconds = now_unix_seconds_;
    try {
      return {false, chat_template.RenderJson(one_case.messages, one_case.options)};
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.message();
      return {true, error.message()};
    }
  }

  Json conversations_;
  int64_t now_unix_seconds_ = 0;
};

// "E" is any error, "R<n>" the template's own refusal number n, anything else a prompt's hash.
bool IsExpected(const Outcome& outcome, const std::string& expected, const Json& refusals) {
  if (expected == "E") {
    return outcome.is_error;
  }
  if (expected.starts_with("R")) {
    const std::string refusal = refusals[std::stoul(expected.substr(1))];
    return outcome.is_error && outcome.text.find(refusal) != std::string::npos;
  }
  return !outcome.is_error && Fnv1a(outcome.text) == expected;
}

TEST_F(ChatGolden, PublishedTemplatesGiveTransformersPrompts) {
  if (!std::filesystem::exists(kPublished)) {
    GTEST_SKIP() << kPublished << " is missing: run tools/fetch_test_models.py";
  }
  ASSERT_GE(conversations_.size(), 200U);
  const Json golden = Json::parse(ReadText(kGolden / "templates.json"));
  int num_prompts = 0;
  int num_errors = 0;
  int num_failures = 0;
  for (const auto& [name, expected] : golden["templates"].items()) {
    const std::string source = ReadText(kPublished / (name + ".jinja"));
    ASSERT_EQ(Fnv1a(source), expected["fnv1a"].get<std::string>())
        << name << " is not the text the golden is for";
    const ChatTemplate chat_template(source, name);
    std::istringstream results(expected["results"].get<std::string>());
    for (const Case& one_case : MakeCases(conversations_, expected)) {
      std::string result;
      ASSERT_TRUE(results >> result) << name;
      const Outcome outcome = Run(chat_template, one_case);
      ++(outcome.is_error ? num_errors : num_prompts);
      if (!IsExpected(outcome, result, expected["refusals"]) &&
          ++num_failures <= kMaxFailuresShown) {
        ADD_FAILURE() << name << ": " << one_case.name << "\nexpected " << result << ", got\n"
                      << outcome.text;
      }
    }
    std::string rest;
    EXPECT_FALSE(results >> rest) << name;
    std::printf("  %-48s %d of %d reachable branches covered\n",
                name.c_str(),
                expected["num_branches_covered"].get<int>(),
                expected["num_branches"].get<int>());
    EXPECT_EQ(expected["num_branches_covered"], expected["num_branches"]) << name;
  }
  EXPECT_EQ(num_failures, 0);
  std::printf("chat golden: %d prompts and %d errors of %zu conversations and %zu templates\n",
              num_prompts,
              num_errors,
              conversations_.size(),
              golden["templates"].size());
}

TEST_F(ChatGolden, OwnTemplatesGiveTransformersPrompts) {
  const Json golden = Json::parse(ReadText(kGolden / "own_templates.json"));
  const Json special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  const std::vector<Case> cases = MakeCases(golden["conversations"], special_tokens);
  for (const auto& [name, expected] : golden["templates"].items()) {
    const ChatTemplate chat_template(ReadText(kGolden / "templates" / name), name);
    ASSERT_EQ(expected.size(), cases.size()) << name;
    for (size_t i = 0; i < cases.size(); ++i) {
      const Outcome outcome = Run(chat_template, cases[i]);
      ASSERT_EQ(outcome.is_error, expected[i].is_null()) << cases[i].name << ": " << outcome.text;
      if (!outcome.is_error) {
        ASSERT_EQ(outcome.text, expected[i].get<std::string>()) << name << ": " << cases[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace whinchat
