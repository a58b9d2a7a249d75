// SPDX-License-Identifier: Apache-2.0
// The JSON files beside the weights of a Hugging Face folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace whinchat {

// The object in the file; an empty object if there is no such file (or for GGUF). Throws
// Error{kCorruptFile} naming the file if it holds anything else.
nlohmann::json ReadJsonSideFile(const Checkpoint& checkpoint, std::string_view file_name);

// "a/b/model.gguf" or "a/b/folder/tokenizer.json": how messages name a file of the checkpoint.
std::string SideFileLabel(const Checkpoint& checkpoint, std::string_view file_name);

// Members of an object; nothing if missing or null or of another type.
std::optional<std::string> FindString(const nlohmann::json& object, std::string_view key);
std::optional<int64_t> FindInteger(const nlohmann::json& object, std::string_view key);
std::optional<double> FindNumber(const nlohmann::json& object, std::string_view key);
std::optional<bool> FindBool(const nlohmann::json& object, std::string_view key);

}  // namespace whinchat
