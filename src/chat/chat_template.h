// SPDX-License-Identifier: Apache-2.0
// A model's own Jinja template, executed as `transformers` apply_chat_template does.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"

namespace whinchat {

struct ChatTemplateOptions {
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the last message is left open, to be continued
  nlohmann::ordered_json tools = nlohmann::ordered_json::array();    // OpenAI's tools array
  nlohmann::ordered_json kwargs = nlohmann::ordered_json::object();  // enable_thinking, ...
  std::string bos_token;
  std::string eos_token;
  std::optional<int64_t> now_unix_seconds;  // what strftime_now tells; nothing: the clock
};

class ChatTemplate {
 public:
  // Compiles. Throws Error{kCorruptFile} with the template's line on a syntax error.
  // `origin` names the template in messages ("chat_template of model.gguf").
  ChatTemplate(std::string source, std::string origin);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // Thread-safe. Throws Error{kInvalidArgument} when the template refuses the conversation
  // (raise_exception) or fails on it, with the template's line.
  std::string Render(const std::vector<Message>& messages,
                     const ChatTemplateOptions& options) const;

  // Same, for messages that are already JSON (content in blocks, unusual roles and members).
  std::string RenderJson(const nlohmann::ordered_json& messages,
                         const ChatTemplateOptions& options) const;

  const std::string& source() const;
  // Whether the source reads `enable_thinking`; whether it reads `tools`.
  bool SupportsThinkingSwitch() const;
  bool SupportsTools() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
