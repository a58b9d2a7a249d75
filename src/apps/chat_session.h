// SPDX-License-Identifier: Apache-2.0
// A conversation in the terminal: its messages, its settings, and the /commands that change them.
// No input or output of its own, so that tests can drive it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "pipeline/text_generator.h"

namespace whinchat::apps {

// Figures of one answer.
struct AnswerStats {
  Usage usage;
  RequestTimings timings;
  FinishReason finish_reason = FinishReason::kNone;

  double TokensPerSecond() const;  // after the first token; 0 for answers of one token
};

// One line: "prompt 36 tokens (32 cached), first token 12 ms, 58 tokens at 231.4 tokens/s, ...".
std::string FormatStats(const AnswerStats& stats);

class ChatSession {
 public:
  explicit ChatSession(std::string system_prompt) : system_prompt_(std::move(system_prompt)) {}

  struct CommandResult {
    std::string text;  // to show
    bool should_quit = false;
  };
  // Nothing if `line` is no command. An unknown command is answered with what there is. Throws
  // Error when a file can't be read or written.
  std::optional<CommandResult> HandleCommand(std::string_view line);

  // The conversation as the model gets it, system prompt first.
  std::vector<Message> MessagesWith(const std::string& user_text) const;
  // Keeps a finished round. A cut answer is kept as far as it went.
  void AddRound(const std::string& user_text, Message answer, const AnswerStats& stats);

  std::optional<bool> enable_thinking() const { return enable_thinking_; }
  const std::vector<Message>& messages() const { return messages_; }
  const std::string& system_prompt() const { return system_prompt_; }

 private:
  std::string SetSystemPrompt(std::string_view text);
  std::string Save(const std::filesystem::path& path) const;
  std::string Load(const std::filesystem::path& path);

  std::string system_prompt_;
  std::vector<Message> messages_;
  std::optional<bool> enable_thinking_;  // nothing: the model's default
  std::optional<AnswerStats> last_stats_;
};

}  // namespace whinchat::apps
