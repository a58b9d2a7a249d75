// SPDX-License-Identifier: Apache-2.0
// The chat template of a checkpoint: chat_template.jinja, else tokenizer_config.json (one text, or
// a list of named ones), else GGUF metadata.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "chat/chat_template.h"
#include "checkpoint/checkpoint.h"

namespace whinchat {

// Null: a base model, which has none. `override_source` (the user's own text) goes before all.
// Throws Error{kCorruptFile} that tells where the template is from and the line of its error.
std::unique_ptr<ChatTemplate> LoadChatTemplate(const Checkpoint& checkpoint,
                                               const std::optional<std::string>& override_source);

}  // namespace whinchat
