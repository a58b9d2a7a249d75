// SPDX-License-Identifier: Apache-2.0
#include "server/served_model.h"

#include <chrono>

#include "api/api_error.h"

namespace whinchat {

ServedModel MakeServedModel(TextGenerator* generator, const ServerOptions& options) {
  RequestDefaults defaults;
  defaults.generation = generator->defaults();
  defaults.chat_template_kwargs = options.default_chat_template_kwargs;
  if (!defaults.chat_template_kwargs.contains("enable_thinking")) {
    defaults.chat_template_kwargs["enable_thinking"] = generator->enable_thinking();
  }
  defaults.max_tokens = options.default_max_tokens;
  defaults.reasoning_budget = options.reasoning_budget;
  defaults.vocab_size = generator->tokenizer().vocab_size();
  const ChatTemplate* chat_template = generator->chat_template();
  defaults.template_takes_tools = chat_template != nullptr && chat_template->SupportsTools();

  ModelCard card;
  card.created = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  card.max_model_len = generator->max_model_len();
  card.root = generator->model_name();
  return {generator,
          ModelNames(generator->model_name(), options.served_model_names, options.model_aliases),
          card,
          defaults};
}

void CheckModelName(const ServedModel& model, std::string_view name) {
  if (!model.names.Matches(name)) {
    ThrowModelNotFound(name, model.names.listed());
  }
}

TokenTextFn TokenTextOf(const ServedModel& model) {
  const Tokenizer* tokenizer = &model.generator->tokenizer();
  return [tokenizer](TokenId id) { return std::string(tokenizer->TokenBytes(id)); };
}

}  // namespace whinchat
