// SPDX-License-Identifier: Apache-2.0
#include "server/generation_routes.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "api/api_error.h"
#include "api/chat_answer.h"
#include "api/chat_request.h"
#include "api/completion_answer.h"
#include "api/completion_request.h"

namespace whinchat {
namespace {

constexpr size_t kMaxChoices = 64;  // prompts times n

// A choice that asks for no tokens: the end at once. The prompt is counted, nothing is computed.
class EmptyGeneration final : public Generation {
 public:
  explicit EmptyGeneration(int num_prompt_tokens) { usage_.num_prompt_tokens = num_prompt_tokens; }

  std::optional<GenerationDelta> Next() override { return TryNext(); }
  std::optional<GenerationDelta> TryNext() override {
    if (std::exchange(is_finished_, true)) {
      return std::nullopt;
    }
    GenerationDelta end;
    end.finish_reason = FinishReason::kLength;
    return end;
  }
  bool is_finished() const override { return is_finished_; }
  void SetWake(TokenStream::WakeFn /*wake*/) override {}
  void Cancel() override {}
  Usage usage() const override { return usage_; }
  RequestTimings timings() const override { return {}; }

 private:
  Usage usage_;
  bool is_finished_ = false;
};

AnswerIdentity MakeIdentity(std::string_view prefix, const ServedModel& model) {
  AnswerIdentity identity;
  identity.id = MakeAnswerId(prefix);
  identity.created = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  identity.model = model.names.primary();
  return identity;
}

// The choices of one prompt must differ, and be the same again with the same seed.
GenerateOptions OptionsOfChoice(const GenerateOptions& options, int choice_idx) {
  GenerateOptions of_choice = options;
  if (of_choice.sampling.seed.has_value()) {
    *of_choice.sampling.seed += static_cast<uint64_t>(choice_idx);
  }
  return of_choice;
}

std::vector<TokenId> TokensOf(const ServedModel& model, const CompletionPrompt& prompt) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) {
    return *ids;
  }
  EncodeOptions options;
  options.add_special_tokens = true;
  return model.generator->tokenizer().Encode(std::get<std::string>(prompt), options);
}

std::string TextOf(const ServedModel& model, const CompletionPrompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    return *text;
  }
  return model.generator->tokenizer().Decode(std::get<std::vector<TokenId>>(prompt));
}

std::unique_ptr<Generation> StartCompletion(const ServedModel& model,
                                            const CompletionPrompt& prompt,
                                            const GenerateOptions& options) {
  if (options.sampling.max_tokens == 0) {
    return std::make_unique<EmptyGeneration>(static_cast<int>(TokensOf(model, prompt).size()));
  }
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    return model.generator->GenerateText(*text, options);
  }
  return model.generator->GenerateTokens(std::get<std::vector<TokenId>>(prompt),
                                         /*starts_in_reasoning=*/false,
                                         options);
}

}  // namespace

PreparedAnswer PrepareChat(const ServedModel& model,
                           const HttpRequest& request,
                           const UnknownFieldsFn& on_unknown_fields) {
  const ChatRequest chat = ParseChatRequest(request.body, model.defaults);
  CheckModelName(model, chat.model);
  on_unknown_fields(chat.unknown_fields);

  PreparedAnswer prepared;
  prepared.stream = chat.stream;
  prepared.choices_per_prompt = chat.num_choices;
  prepared.answer =
      std::make_unique<ChatAnswer>(MakeIdentity("chatcmpl", model), chat, TokenTextOf(model));
  for (int i = 0; i < chat.num_choices; ++i) {
    prepared.generations.push_back(model.generator->GenerateChat(
        chat.messages, chat.template_options, OptionsOfChoice(chat.options, i)));
  }
  return prepared;
}

PreparedAnswer PrepareCompletion(const ServedModel& model,
                                 const HttpRequest& request,
                                 const UnknownFieldsFn& on_unknown_fields) {
  const CompletionRequest completion = ParseCompletionRequest(request.body, model.defaults);
  CheckModelName(model, completion.model);
  on_unknown_fields(completion.unknown_fields);
  const size_t num_choices =
      completion.prompts.size() * static_cast<size_t>(completion.num_choices);
  if (num_choices > kMaxChoices) {
    ThrowFieldError(
        "n",
        fmt::format("n: prompts times n must be at most {}, got {}.", kMaxChoices, num_choices));
  }

  std::vector<std::string> echo_texts;
  for (size_t i = 0; completion.echo && i < completion.prompts.size(); ++i) {
    echo_texts.push_back(TextOf(model, completion.prompts[i]));
  }
  PreparedAnswer prepared;
  prepared.stream = completion.stream;
  prepared.choices_per_prompt = completion.num_choices;
  prepared.answer = std::make_unique<CompletionAnswer>(
      MakeIdentity("cmpl", model), completion, std::move(echo_texts), TokenTextOf(model));
  for (const CompletionPrompt& prompt : completion.prompts) {
    for (int i = 0; i < completion.num_choices; ++i) {
      prepared.generations.push_back(
          StartCompletion(model, prompt, OptionsOfChoice(completion.options, i)));
    }
  }
  return prepared;
}

}  // namespace whinchat
