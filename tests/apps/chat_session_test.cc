// SPDX-License-Identifier: Apache-2.0
#include "apps/chat_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace whinchat::apps {
namespace {

using testing::HasSubstr;

std::string Command(ChatSession* session, std::string_view line) {
  const auto result = session->HandleCommand(line);
  EXPECT_TRUE(result.has_value()) << line;
  return result ? result->text : "";
}

Message Assistant(std::string content) {
  return {.role = "assistant", .content = std::move(content)};
}

TEST(ChatSession, TextIsNoCommand) {
  ChatSession session("");
  EXPECT_FALSE(session.HandleCommand("what is 1/2?").has_value());
  EXPECT_FALSE(session.HandleCommand("").has_value());
}

TEST(ChatSession, SystemPromptComesFirstAndCanChange) {
  ChatSession session("Be brief.");
  EXPECT_EQ(session.MessagesWith("hi").front().content, "Be brief.");
  Command(&session, "/system  Be kind. ");
  EXPECT_EQ(session.MessagesWith("hi").front().content, "Be kind.");
  EXPECT_EQ(Command(&session, "/system"), "Be kind.");
}

TEST(ChatSession, RoundsAreKeptUntilCleared) {
  ChatSession session("");
  session.AddRound("hi", Assistant("hello"), {});
  ASSERT_EQ(session.MessagesWith("again").size(), 3U);
  EXPECT_EQ(session.MessagesWith("again")[1].content, "hello");
  Command(&session, "/clear");
  EXPECT_EQ(session.MessagesWith("again").size(), 1U);
}

TEST(ChatSession, ThinkingIsSwitched) {
  ChatSession session("");
  EXPECT_FALSE(session.enable_thinking().has_value());
  Command(&session, "/think");
  EXPECT_EQ(session.enable_thinking(), true);
  Command(&session, "/nothink");
  EXPECT_EQ(session.enable_thinking(), false);
}

TEST(ChatSession, SavedConversationsLoadAgain) {
  const auto path = std::filesystem::path(testing::TempDir()) / "chat_session_test.json";
  ChatSession session("Sei nett.");
  Message answer = Assistant("你好 \xF0\x9F\x98\x80");
  answer.reasoning_content = "greet";
  session.AddRound("hi", answer, {});
  Command(&session, "/save " + path.string());
  ChatSession other("");
  EXPECT_THAT(Command(&other, "/load " + path.string()), HasSubstr("2 messages"));
  EXPECT_EQ(other.system_prompt(), "Sei nett.");
  ASSERT_EQ(other.messages().size(), 2U);
  EXPECT_EQ(other.messages()[1].content, answer.content);
  EXPECT_EQ(other.messages()[1].reasoning_content, "greet");
}

TEST(ChatSession, BadFilesLeaveTheConversationAlone) {
  const auto path = std::filesystem::path(testing::TempDir()) / "chat_session_bad.json";
  ChatSession session("");
  session.AddRound("hi", Assistant("hello"), {});
  for (const char* text :
       {"", "{", "[]", R"({"messages": [1]})", R"({"messages": [{"role": 1}]})"}) {
    std::ofstream(path) << text;
    EXPECT_THROW(session.HandleCommand("/load " + path.string()), Error) << text;
  }
  EXPECT_THROW(session.HandleCommand("/load"), Error);
  EXPECT_THROW(session.HandleCommand("/save /no/such/folder/file"), Error);
  EXPECT_EQ(session.messages().size(), 2U);
}

TEST(ChatSession, UnknownCommandsAreAnsweredWithHelp) {
  ChatSession session("");
  EXPECT_THAT(Command(&session, "/frobnicate"), HasSubstr("/clear"));
  EXPECT_TRUE(session.HandleCommand("/quit")->should_quit);
}

TEST(FormatStats, GivesSpeedAfterTheFirstToken) {
  AnswerStats stats;
  stats.usage = {.num_prompt_tokens = 36, .num_completion_tokens = 11, .num_cached_tokens = 32};
  stats.timings.first_token_ms = 100;
  stats.timings.total_ms = 200;
  EXPECT_EQ(FormatStats(stats),
            "prompt 36 tokens (32 cached), first token 100 ms, 11 tokens at 100.0 tokens/s");
}

}  // namespace
}  // namespace whinchat::apps
