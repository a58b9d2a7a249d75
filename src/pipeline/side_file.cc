// SPDX-License-Identifier: Apache-2.0
#include "pipeline/side_file.h"

#include "base/error.h"
#include "chat/json_depth.h"

namespace whinchat {
namespace {

using Json = nlohmann::json;

const Json* Find(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

nlohmann::json ReadJsonSideFile(const Checkpoint& checkpoint, std::string_view file_name) {
  const std::optional<std::string> text = checkpoint.ReadSideFile(file_name);
  if (!text) {
    return Json::object();
  }
  Json json = JsonTextDepth(*text) > kMaxJsonDepth
                  ? Json()
                  : Json::parse(*text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    ThrowError(
        ErrorCode::kCorruptFile, "'{}' is not a JSON object", SideFileLabel(checkpoint, file_name));
  }
  return json;
}

std::string SideFileLabel(const Checkpoint& checkpoint, std::string_view file_name) {
  return checkpoint.format() == CheckpointFormat::kGguf ? checkpoint.path().string()
                                                        : (checkpoint.path() / file_name).string();
}

std::optional<std::string> FindString(const nlohmann::json& object, std::string_view key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>())
                                                : std::nullopt;
}

std::optional<int64_t> FindInteger(const nlohmann::json& object, std::string_view key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_number_integer() ? std::optional(value->get<int64_t>())
                                                        : std::nullopt;
}

std::optional<double> FindNumber(const nlohmann::json& object, std::string_view key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>())
                                                : std::nullopt;
}

std::optional<bool> FindBool(const nlohmann::json& object, std::string_view key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

}  // namespace whinchat
