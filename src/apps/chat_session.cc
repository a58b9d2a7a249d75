// SPDX-License-Identifier: Apache-2.0
#include "apps/chat_session.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace whinchat::apps {
namespace {

constexpr std::string_view kHelp =
    "/clear          forget the conversation\n"
    "/system TEXT    set the system prompt (without TEXT: show it)\n"
    "/think          let the model think before it answers\n"
    "/nothink        answer at once\n"
    "/save FILE      keep the conversation\n"
    "/load FILE      take one up again\n"
    "/stats          figures of the last answer\n"
    "/quit           leave (also Ctrl-D)\n"
    "A line that ends in \\ goes on in the next. Ctrl-C stops an answer.";

std::string_view StripSpaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

Message MessageFromJson(const nlohmann::json& json, const std::filesystem::path& path) {
  if (!json.is_object() || !json.contains("role") || !json["role"].is_string() ||
      !json.contains("content") || !json["content"].is_string()) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' holds a message without a role or content in text",
               path.string());
  }
  Message message;
  message.role = json["role"];
  message.content = json["content"];
  if (const auto it = json.find("reasoning_content"); it != json.end() && it->is_string()) {
    message.reasoning_content = it->get<std::string>();
  }
  return message;
}

}  // namespace

double AnswerStats::TokensPerSecond() const {
  const double decode_ms = timings.total_ms - timings.first_token_ms;
  return usage.num_completion_tokens > 1 && decode_ms > 0
             ? (usage.num_completion_tokens - 1) * 1000.0 / decode_ms
             : 0.0;
}

std::string FormatStats(const AnswerStats& stats) {
  std::string text = fmt::format("prompt {} tokens", stats.usage.num_prompt_tokens);
  if (stats.usage.num_cached_tokens > 0) {
    text += fmt::format(" ({} cached)", stats.usage.num_cached_tokens);
  }
  text += fmt::format(", first token {:.0f} ms, {} tokens",
                      stats.timings.first_token_ms,
                      stats.usage.num_completion_tokens);
  if (stats.TokensPerSecond() > 0) {
    text += fmt::format(" at {:.1f} tokens/s", stats.TokensPerSecond());
  }
  if (stats.finish_reason == FinishReason::kLength) {
    text += ", cut at the token limit";
  } else if (stats.finish_reason == FinishReason::kCancelled) {
    text += ", stopped";
  }
  return text;
}

std::optional<ChatSession::CommandResult> ChatSession::HandleCommand(std::string_view line) {
  if (line.empty() || line.front() != '/') {
    return std::nullopt;
  }
  const size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  const std::string_view argument =
      space == std::string_view::npos ? "" : StripSpaces(line.substr(space));
  if (name == "/quit" || name == "/exit" || name == "/bye") {
    return CommandResult{"", /*should_quit=*/true};
  }
  if (name == "/help" || name == "/?") {
    return CommandResult{std::string(kHelp)};
  }
  if (name == "/clear") {
    messages_.clear();
    return CommandResult{"The conversation is forgotten."};
  }
  if (name == "/system") {
    return CommandResult{SetSystemPrompt(argument)};
  }
  if (name == "/think" || name == "/nothink" || name == "/no_think") {
    enable_thinking_ = name == "/think";
    return CommandResult{*enable_thinking_ ? "Thinking is on." : "Thinking is off."};
  }
  if (name == "/stats") {
    return CommandResult{last_stats_ ? FormatStats(*last_stats_) : "There is no answer yet."};
  }
  if (name == "/save") {
    return CommandResult{Save(argument)};
  }
  if (name == "/load") {
    return CommandResult{Load(argument)};
  }
  return CommandResult{fmt::format("There is no command {}. These are:\n{}", name, kHelp)};
}

std::vector<Message> ChatSession::MessagesWith(const std::string& user_text) const {
  std::vector<Message> messages;
  if (!system_prompt_.empty()) {
    messages.push_back({.role = "system", .content = system_prompt_});
  }
  messages.insert(messages.end(), messages_.begin(), messages_.end());
  messages.push_back({.role = "user", .content = user_text});
  return messages;
}

void ChatSession::AddRound(const std::string& user_text, Message answer, const AnswerStats& stats) {
  messages_.push_back({.role = "user", .content = user_text});
  messages_.push_back(std::move(answer));
  last_stats_ = stats;
}

std::string ChatSession::SetSystemPrompt(std::string_view text) {
  if (text.empty()) {
    return system_prompt_.empty() ? "There is no system prompt." : system_prompt_;
  }
  system_prompt_ = text;
  return "The system prompt is set.";
}

std::string ChatSession::Save(const std::filesystem::path& path) const {
  if (path.empty()) {
    ThrowError(ErrorCode::kInvalidArgument, "/save needs the name of a file");
  }
  nlohmann::ordered_json json = {{"system", system_prompt_},
                                 {"messages", nlohmann::ordered_json::array()}};
  for (const Message& message : messages_) {
    nlohmann::ordered_json entry = {{"role", message.role}, {"content", message.content}};
    if (message.reasoning_content) {
      entry["reasoning_content"] = *message.reasoning_content;
    }
    json["messages"].push_back(std::move(entry));
  }
  std::ofstream file(path);
  file << json.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace)
       << '\n';
  file.close();
  if (!file) {
    ThrowError(ErrorCode::kIo, "can't write '{}'", path.string());
  }
  return fmt::format("Kept {} messages in '{}'.", messages_.size(), path.string());
}

std::string ChatSession::Load(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (path.empty() || !file) {
    ThrowError(ErrorCode::kNotFound, "can't open '{}'", path.string());
  }
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()) {
    ThrowError(
        ErrorCode::kCorruptFile, "'{}' is not a conversation that /save wrote", path.string());
  }
  std::vector<Message> messages;
  for (const nlohmann::json& entry : json["messages"]) {
    messages.push_back(MessageFromJson(entry, path));
  }
  const auto system = json.find("system");
  system_prompt_ = system != json.end() && system->is_string() ? system->get<std::string>() : "";
  messages_ = std::move(messages);
  return fmt::format("Took up {} messages from '{}'.", messages_.size(), path.string());
}

}  // namespace whinchat::apps
