// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/error.h"

namespace whinchat {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string Render(const std::string& source,
                   const std::vector<Message>& messages,
                   const ChatTemplateOptions& options = {}) {
  return ChatTemplate(source, "test template").Render(messages, options);
}

void ExpectError(const std::function<void()>& action,
                 ErrorCode code,
                 const testing::Matcher<std::string>& message) {
  try {
    action();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.message(), message);
  }
}

ChatTemplateOptions ContinueOptions() {
  ChatTemplateOptions options;
  options.add_generation_prompt = false;
  options.continue_final_message = true;
  return options;
}

TEST(ChatTemplate, RendersAConversation) {
  EXPECT_EQ(Render(kChatMl, {{.role = "system", .content = "S"}, {.role = "user", .content = "U"}}),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatTemplate, GivesTemplatesTheVariablesThatTransformersGives) {
  ChatTemplateOptions options;
  options.bos_token = "<s>";
  options.kwargs = {{"enable_thinking", false}, {"custom", {1, "x"}}};
  EXPECT_EQ(Render("{{ bos_token }}|{{ eos_token is defined }}|{{ tools is none }}|"
                   "{{ documents is none }}|{{ enable_thinking }}|{{ custom }}",
                   {{.role = "user", .content = ""}},
                   options),
            "<s>|False|True|True|False|[1, 'x']");
}

TEST(ChatTemplate, KwargsReplaceTheSpecialTokensButNotTheMessages) {
  ChatTemplateOptions options;
  options.bos_token = "<s>";
  options.kwargs = {{"bos_token", "<b>"}, {"messages", "none of it"}};
  EXPECT_EQ(
      Render("{{ bos_token }}{{ messages|length }}", {{.role = "user", .content = ""}}, options),
      "<b>1");
}

TEST(ChatTemplate, PassesAThoughtUnderEveryNameThatTemplatesRead) {
  const ChatTemplate chat_template("{{ messages[0].thinking }}{{ messages[0].reasoning_content }}",
                                   "t");
  for (const char* name : {"thinking", "reasoning", "reasoning_content"}) {
    const Json messages = Json::array({{{"role", "assistant"}, {"content", nullptr}, {name, "T"}}});
    EXPECT_EQ(chat_template.RenderJson(messages, {}), "TT") << name;
  }
}

TEST(ChatTemplate, DropsNullMembersOfMessages) {
  const ChatTemplate chat_template("{{ 'content' in messages[0] }}", "t");
  EXPECT_EQ(chat_template.RenderJson(Json::array({{{"content", nullptr}}}), {}), "False");
}

TEST(ChatTemplate, ContinuesTheFinalMessageWithItsOwnSpacing) {
  EXPECT_EQ(Render(kChatMl,
                   {{.role = "user", .content = "U"}, {.role = "assistant", .content = "So "}},
                   ContinueOptions()),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nSo ");
}

TEST(ChatTemplate, ContinuesTheFinalMessageOfATemplateThatTrims) {
  EXPECT_EQ(Render("{% for m in messages %}[{{ m.content|trim }}]\n{% endfor %}",
                   {{.role = "assistant", .content = " So "}},
                   ContinueOptions()),
            "[So");
}

TEST(ChatTemplate, ContinuesTheLastTextOfAMessageInBlocks) {
  const ChatTemplate chat_template(
      "{% for block in messages[0].content %}<{{ block.text }}>{% endfor %}", "t");
  const Json messages = Json::parse(
      R"([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])");
  EXPECT_EQ(chat_template.RenderJson(messages, ContinueOptions()), "<a><b");
}

TEST(ChatTemplate, RefusesToContinueWhatTheTemplateLeavesOut) {
  ExpectError(
      [] {
        Render("{{ messages[0].role }}", {{.role = "user", .content = "x"}}, ContinueOptions());
      },
      ErrorCode::kInvalidArgument,
      HasSubstr("leaves out or changes the last message"));
  ExpectError(
      [] {
        ChatTemplate(kChatMl, "t").RenderJson(Json::array({{{"role", "user"}}}), ContinueOptions());
      },
      ErrorCode::kInvalidArgument,
      HasSubstr("a last message with content"));
}

TEST(ChatTemplate, ContinuingAndAGenerationPromptExcludeEachOther) {
  ChatTemplateOptions options = ContinueOptions();
  options.add_generation_prompt = true;
  ExpectError([&] { Render(kChatMl, {{.role = "user", .content = "x"}}, options); },
              ErrorCode::kInvalidArgument,
              HasSubstr("exclude each other"));
}

TEST(ChatTemplate, AnEmptyConversationIsRefused) {
  ExpectError(
      [] { Render(kChatMl, {}); }, ErrorCode::kInvalidArgument, HasSubstr("at least one message"));
}

TEST(ChatTemplate, ASyntaxErrorNamesTheTemplateAndItsLine) {
  ExpectError([] { ChatTemplate("a\nb\n{% if %}", "chat_template of m.gguf"); },
              ErrorCode::kCorruptFile,
              HasSubstr("chat_template of m.gguf, line 3"));
}

TEST(ChatTemplate, ARefusalTellsTheTemplatesMessageAndLine) {
  ExpectError(
      [] {
        Render("\n{{ raise_exception('roles must alternate') }}",
               {{.role = "user", .content = ""}});
      },
      ErrorCode::kInvalidArgument,
      AllOf(HasSubstr("line 2"), HasSubstr("refuses"), HasSubstr("roles must alternate")));
}

TEST(ChatTemplate, AFailureOnAConversationTellsTheLine) {
  ExpectError([] { Render("\n\n{{ missing.member }}", {{.role = "user", .content = ""}}); },
              ErrorCode::kInvalidArgument,
              AllOf(HasSubstr("line 3"), HasSubstr("fails")));
}

TEST(ChatTemplate, AnEndlessTemplateIsStopped) {
  ExpectError(
      [] {
        Render("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
               {{.role = "user", .content = ""}});
      },
      ErrorCode::kInvalidArgument,
      HasSubstr("too much work"));
}

TEST(ChatTemplate, ToolsNestedTooDeeplyAreRefused) {
  ChatTemplateOptions options;
  options.tools = Json::array({1});
  for (int i = 0; i < 200; ++i) {
    options.tools = Json::array({options.tools});
  }
  ExpectError([&] { Render(kChatMl, {{.role = "user", .content = ""}}, options); },
              ErrorCode::kInvalidArgument,
              HasSubstr("100 levels deep"));
}

TEST(ChatTemplate, InvalidUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(Render("{{ messages[0].content }}", {{.role = "user", .content = "a\xff\xe4\xbd"}}),
            "a\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(ChatTemplate, StrftimeNowTellsTheGivenTime) {
  ChatTemplateOptions options;
  options.now_unix_seconds = 1700000000;
  EXPECT_EQ(Render("{{ strftime_now('%Y') }}", {{.role = "user", .content = ""}}, options), "2023");
  options.now_unix_seconds.reset();
  EXPECT_GE(std::stoi(Render("{{ strftime_now('%Y') }}", {{.role = "user", .content = ""}})), 2025);
}

TEST(ChatTemplate, TellsWhatItsSourceReads) {
  const ChatTemplate plain(kChatMl, "t");
  EXPECT_FALSE(plain.SupportsTools());
  EXPECT_FALSE(plain.SupportsThinkingSwitch());
  const ChatTemplate full("{% if tools %}{% endif %}{{ enable_thinking }}", "t");
  EXPECT_TRUE(full.SupportsTools());
  EXPECT_TRUE(full.SupportsThinkingSwitch());
  EXPECT_EQ(plain.source(), kChatMl);
}

TEST(ChatTemplate, ManyThreadsRenderOneTemplate) {
  const ChatTemplate chat_template(kChatMl, "t");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string text = "message " + std::to_string(i);
      for (int round = 0; round < 50; ++round) {
        EXPECT_THAT(chat_template.Render({{.role = "user", .content = text}}, {}),
                    HasSubstr(text + "<|im_end|>"));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(ChatTemplate, AConversationOfTwoThousandMessagesRenders) {
  std::vector<Message> messages(
      2000, {.role = "user", .content = "A sentence of middling length, as people write them."});
  EXPECT_GT(Render(kChatMl, messages).size(), 100000U);
}

}  // namespace
}  // namespace whinchat
