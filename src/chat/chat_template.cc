// SPDX-License-Identifier: Apache-2.0
// The Jinja engine is the Rust library's (rust/include/whinchat_rust.h); here are the conventions
// of `transformers` around it: which variables a template sees, and how a last message is left
// open.
#include "chat/chat_template.h"

#include <whinchat_rust.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "chat/json_depth.h"
#include "chat/python_text.h"

namespace whinchat {
namespace {

using Json = nlohmann::ordered_json;

// `transformers` appends this to the text to be continued and cuts the prompt where it shows up.
// The space at its end tells whether the template trims messages.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

// The names a message's thought is passed under. The first is the one most templates read.
constexpr std::array<const char*, 3> kReasoningFields = {
    "reasoning_content", "thinking", "reasoning"};

struct TemplateDeleter {
  void operator()(WhinchatTemplate* chat_template) const { whinchat_template_free(chat_template); }
};
using TemplatePointer = std::unique_ptr<WhinchatTemplate, TemplateDeleter>;

struct TemplateResult : WhinchatTemplateResult {
  TemplateResult() : WhinchatTemplateResult{} {}
  ~TemplateResult() { whinchat_template_result_free(this); }
  TemplateResult(const TemplateResult&) = delete;
  TemplateResult& operator=(const TemplateResult&) = delete;

  std::string_view Text() const { return {text, text_size}; }
};

[[noreturn]] void ThrowTemplateError(const TemplateResult& result, const std::string& origin) {
  const std::string place =
      result.line > 0 ? fmt::format("{}, line {}", origin, result.line) : origin;
  switch (result.status) {
    case WHINCHAT_TEMPLATE_SYNTAX_ERROR:
      ThrowError(
          ErrorCode::kCorruptFile, "{}: not a valid Jinja template: {}", place, result.Text());
    case WHINCHAT_TEMPLATE_REFUSED:
      ThrowError(ErrorCode::kInvalidArgument,
                 "{}: the model's chat template refuses this conversation: {}",
                 place,
                 result.Text());
    case WHINCHAT_TEMPLATE_TOO_COSTLY:
      ThrowError(ErrorCode::kInvalidArgument,
                 "{}: this conversation takes the chat template too much work: {}",
                 place,
                 result.Text());
    case WHINCHAT_TEMPLATE_FAILED:
      ThrowError(ErrorCode::kInvalidArgument,
                 "{}: the chat template fails on this conversation: {}",
                 place,
                 result.Text());
    case WHINCHAT_TEMPLATE_OK:
    case WHINCHAT_TEMPLATE_PANIC:
      break;
  }
  ThrowError(ErrorCode::kInternal, "{}: {}", place, result.Text());
}

// Null members are dropped, since many templates print them or fail on them; a thought is passed
// under the names that templates read.
Json NormalizeMessage(const Json& message) {
  if (!message.is_object()) {
    ThrowError(ErrorCode::kInvalidArgument, "each message must be an object with a role");
  }
  const Json* reasoning = nullptr;
  for (const char* field : kReasoningFields) {
    const auto found = message.find(field);
    if (reasoning == nullptr && found != message.end() && !found->is_null()) {
      reasoning = &*found;
    }
  }
  Json normalized = Json::object();
  if (reasoning != nullptr) {
    normalized["thinking"] = *reasoning;
  }
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) {
      normalized[key] = value;
    }
  }
  if (reasoning != nullptr) {
    normalized["reasoning_content"] = *reasoning;
  }
  return normalized;
}

// Appends the tag to the text of the last message and returns that text as it was.
std::string MarkFinalMessage(Json* messages, const std::string& origin) {
  Json& message = messages->back();
  const auto content = message.find("content");
  if (content == message.end()) {
    ThrowError(ErrorCode::kInvalidArgument,
               "continue_final_message needs a last message with content");
  }
  Json* text = nullptr;
  if (content->is_string()) {
    text = &*content;
  } else if (content->is_array()) {
    // The last block of text of a message made of blocks.
    for (Json& block : *content) {
      if (block.is_object() && block.contains("text") && block["text"].is_string()) {
        text = &block["text"];
      }
    }
  }
  if (text == nullptr) {
    ThrowError(ErrorCode::kInvalidArgument,
               "{}: continue_final_message finds no text in the last message",
               origin);
  }
  std::string unmarked = text->get<std::string>();
  *text = unmarked + std::string(kContinueTag);
  return unmarked;
}

// Cuts the prompt after the last message's own text.
std::string CutAfterFinalMessage(std::string prompt,
                                 std::string_view final_text,
                                 const std::string& origin) {
  const std::string_view tag = StripLikePython(kContinueTag);
  const size_t position = prompt.rfind(tag);
  if (position == std::string::npos ||
      prompt.find(StripLikePython(final_text)) == std::string::npos) {
    ThrowError(ErrorCode::kInvalidArgument,
               "{}: continue_final_message is set, but the chat template leaves out or changes the "
               "last message",
               origin);
  }
  const bool keeps_spacing = std::string_view(prompt).substr(position).starts_with(kContinueTag);
  prompt.resize(position);
  if (!keeps_spacing) {
    prompt.resize(RightStripLikePython(prompt).size());
  }
  return prompt;
}

Json MakeContext(Json messages, const ChatTemplateOptions& options) {
  Json context = Json::object();
  if (!options.bos_token.empty()) {
    context["bos_token"] = options.bos_token;
  }
  if (!options.eos_token.empty()) {
    context["eos_token"] = options.eos_token;
  }
  context["documents"] = nullptr;
  for (const auto& [key, value] : options.kwargs.items()) {
    context[key] = value;
  }
  context["messages"] = std::move(messages);
  context["tools"] = options.tools.empty() ? Json(nullptr) : options.tools;
  context["add_generation_prompt"] = options.add_generation_prompt;
  if (IsDeeperThan(context, kMaxJsonDepth)) {
    ThrowError(ErrorCode::kInvalidArgument,
               "the messages or tools are nested more than {} levels deep",
               kMaxJsonDepth);
  }
  return context;
}

}  // namespace

struct ChatTemplate::State {
  std::string source;
  std::string origin;
  TemplatePointer compiled;

  std::string Execute(const Json& context, std::optional<int64_t> now_unix_seconds) const {
    // Invalid UTF-8 becomes U+FFFD, as everywhere text enters.
    const std::string text =
        context.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
    TemplateResult result;
    whinchat_template_render(
        compiled.get(), text.data(), text.size(), now_unix_seconds.value_or(-1), &result);
    if (result.status != WHINCHAT_TEMPLATE_OK) {
      ThrowTemplateError(result, origin);
    }
    return std::string(result.Text());
  }
};

ChatTemplate::ChatTemplate(std::string source, std::string origin)
    : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
  state_->origin = std::move(origin);
  TemplateResult result;
  state_->compiled.reset(
      whinchat_template_compile(state_->source.data(), state_->source.size(), &result));
  if (state_->compiled == nullptr) {
    ThrowTemplateError(result, state_->origin);
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::Render(const std::vector<Message>& messages,
                                 const ChatTemplateOptions& options) const {
  Json json = Json::array();
  for (const Message& message : messages) {
    json.push_back(ToTemplateJson(message));
  }
  return RenderJson(json, options);
}

std::string ChatTemplate::RenderJson(const nlohmann::ordered_json& messages,
                                     const ChatTemplateOptions& options) const {
  if (!messages.is_array() || messages.empty()) {
    ThrowError(ErrorCode::kInvalidArgument, "a conversation needs at least one message");
  }
  if (options.continue_final_message && options.add_generation_prompt) {
    ThrowError(ErrorCode::kInvalidArgument,
               "continue_final_message and add_generation_prompt exclude each other: set one of "
               "them to false");
  }
  Json normalized = Json::array();
  for (const Json& message : messages) {
    normalized.push_back(NormalizeMessage(message));
  }
  if (!options.continue_final_message) {
    return state_->Execute(MakeContext(std::move(normalized), options), options.now_unix_seconds);
  }
  const std::string final_text = MarkFinalMessage(&normalized, state_->origin);
  return CutAfterFinalMessage(
      state_->Execute(MakeContext(std::move(normalized), options), options.now_unix_seconds),
      final_text,
      state_->origin);
}

const std::string& ChatTemplate::source() const {
  return state_->source;
}

bool ChatTemplate::SupportsThinkingSwitch() const {
  return state_->source.find("enable_thinking") != std::string::npos;
}

bool ChatTemplate::SupportsTools() const {
  return state_->source.find("tools") != std::string::npos;
}

}  // namespace whinchat
