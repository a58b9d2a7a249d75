// SPDX-License-Identifier: Apache-2.0
#include "pipeline/chat_template_loader.h"

#include "pipeline/side_file.h"

namespace whinchat {
namespace {

using Json = nlohmann::json;

struct TemplateText {
  std::string source;
  std::string origin;
};

// A list of named templates has "default" for most uses, and "tool_use" where tools take another
// one; "tool_use" also renders conversations without tools.
std::optional<std::string> PickNamedTemplate(const Json& templates) {
  std::optional<std::string> picked;
  for (const Json& entry : templates) {
    if (!entry.is_object()) {
      continue;
    }
    const std::string name = FindString(entry, "name").value_or("");
    std::optional<std::string> source = FindString(entry, "template");
    if (source && (name == "default" || !picked)) {
      picked = std::move(source);
    }
  }
  return picked;
}

std::optional<TemplateText> FindInHuggingFace(const Checkpoint& checkpoint) {
  if (auto source = checkpoint.ReadSideFile("chat_template.jinja")) {
    return TemplateText{std::move(*source), SideFileLabel(checkpoint, "chat_template.jinja")};
  }
  const Json config = ReadJsonSideFile(checkpoint, "tokenizer_config.json");
  const std::string origin =
      "chat_template of " + SideFileLabel(checkpoint, "tokenizer_config.json");
  if (auto source = FindString(config, "chat_template")) {
    return TemplateText{std::move(*source), origin};
  }
  const auto found = config.find("chat_template");
  if (found != config.end() && found->is_array()) {
    if (auto source = PickNamedTemplate(*found)) {
      return TemplateText{std::move(*source), origin};
    }
  }
  return std::nullopt;
}

std::optional<TemplateText> FindInGguf(const Checkpoint& checkpoint) {
  if (auto source = FindString(checkpoint.config(), "tokenizer.chat_template")) {
    return TemplateText{std::move(*source), "chat_template of " + checkpoint.path().string()};
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<ChatTemplate> LoadChatTemplate(const Checkpoint& checkpoint,
                                               const std::optional<std::string>& override_source) {
  if (override_source) {
    return std::make_unique<ChatTemplate>(*override_source, "the given chat template");
  }
  std::optional<TemplateText> text = checkpoint.format() == CheckpointFormat::kGguf
                                         ? FindInGguf(checkpoint)
                                         : FindInHuggingFace(checkpoint);
  if (!text) {
    return nullptr;
  }
  return std::make_unique<ChatTemplate>(std::move(text->source), std::move(text->origin));
}

}  // namespace whinchat
