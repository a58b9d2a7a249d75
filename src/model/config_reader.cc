// SPDX-License-Identifier: Apache-2.0
#include "model/config_reader.h"

#include <cmath>

namespace whinchat {

ConfigReader::ConfigReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  const char* key = is_gguf() ? "general.architecture" : "model_type";
  const nlohmann::json& config = checkpoint.config();
  if (!config.is_object() || !config.contains(key) || !config[key].is_string()) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the configuration has no text '{}' that names the architecture",
               checkpoint.path().string(),
               key);
  }
  architecture_ = config[key].get<std::string>();
}

std::string ConfigReader::KeyText(const ConfigKey& key) const {
  return is_gguf() ? fmt::format("{}.{}", architecture_, key.gguf) : std::string(key.hugging_face);
}

std::string ConfigReader::Place(const ConfigKey& key) const {
  return fmt::format("'{}': {}", checkpoint_.path().string(), KeyText(key));
}

void ConfigReader::FailWith(ErrorCode code, const ConfigKey& key, const std::string& text) const {
  throw Error(code, fmt::format("{} {}", Place(key), text));
}

const nlohmann::json* ConfigReader::Find(const ConfigKey& key) const {
  if ((is_gguf() ? key.gguf : key.hugging_face).empty()) {
    return nullptr;
  }
  const nlohmann::json* node = &checkpoint_.config();
  std::string name = KeyText(key);
  if (!is_gguf()) {  // a dot enters a nested object
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
      const auto child = node->find(name.substr(0, dot));
      if (child == node->end() || !child->is_object()) {
        return nullptr;
      }
      node = &*child;
      name.erase(0, dot + 1);
    }
  }
  const auto value = node->find(name);
  return value == node->end() || value->is_null() ? nullptr : &*value;
}

std::optional<int> ConfigReader::OptionalInt(const ConfigKey& key, int max) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  // Compared as a double first: a huge integer must not wrap around into a valid one.
  if (!value->is_number_integer() || value->get<double>() < 1.0 ||
      value->get<double>() > static_cast<double>(max)) {
    Fail(ErrorCode::kCorruptFile,
         key,
         "is {}, expected an integer from 1 to {}",
         value->dump(),
         max);
  }
  return value->get<int>();
}

int ConfigReader::RequiredInt(const ConfigKey& key, int max) const {
  const std::optional<int> value = OptionalInt(key, max);
  if (!value) {
    Fail(ErrorCode::kCorruptFile, key, "is missing");
  }
  return *value;
}

std::optional<float> ConfigReader::OptionalNumber(const ConfigKey& key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const float number = value->is_number() ? static_cast<float>(value->get<double>()) : -1.0F;
  if (!std::isfinite(number) || number <= 0.0F) {
    Fail(ErrorCode::kCorruptFile, key, "is {}, expected a positive number", value->dump());
  }
  return number;
}

float ConfigReader::RequiredNumber(const ConfigKey& key) const {
  const std::optional<float> value = OptionalNumber(key);
  if (!value) {
    Fail(ErrorCode::kCorruptFile, key, "is missing");
  }
  return *value;
}

bool ConfigReader::OptionalBool(const ConfigKey& key, bool fallback) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    Fail(ErrorCode::kCorruptFile, key, "is {}, expected true or false", value->dump());
  }
  return value->get<bool>();
}

std::optional<std::string> ConfigReader::OptionalString(const ConfigKey& key) const {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    Fail(ErrorCode::kCorruptFile, key, "is {}, expected text", value->dump());
  }
  return value->get<std::string>();
}

}  // namespace whinchat
