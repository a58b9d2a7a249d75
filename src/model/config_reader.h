// SPDX-License-Identifier: Apache-2.0
// Typed look-ups in a checkpoint's configuration, for both formats: each value is asked for by its
// Hugging Face key and its GGUF key (without the architecture's prefix). Every error names the
// file and the key.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/checkpoint.h"

namespace whinchat {

// The two names of one value. An empty name: that format does not have it.
struct ConfigKey {
  std::string_view hugging_face;  // "hidden_size", "rope_parameters.rope_theta"
  std::string_view gguf;          // "embedding_length" for "llama.embedding_length"
};

class ConfigReader {
 public:
  // Throws Error{kCorruptFile} when the architecture is not named. Keeps a reference.
  explicit ConfigReader(const Checkpoint& checkpoint);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  bool is_gguf() const { return checkpoint_.format() == CheckpointFormat::kGguf; }
  const std::string& architecture() const { return architecture_; }

  // Null if missing or JSON null.
  const nlohmann::json* Find(const ConfigKey& key) const;

  // Throw Error{kCorruptFile} when of another type or outside [1, max].
  int RequiredInt(const ConfigKey& key, int max) const;
  std::optional<int> OptionalInt(const ConfigKey& key, int max) const;
  // Finite and positive.
  float RequiredNumber(const ConfigKey& key) const;
  std::optional<float> OptionalNumber(const ConfigKey& key) const;
  bool OptionalBool(const ConfigKey& key, bool fallback) const;
  std::optional<std::string> OptionalString(const ConfigKey& key) const;

  // "'/models/x/config.json': hidden_size" for messages.
  std::string Place(const ConfigKey& key) const;

  template <typename... Args>
  [[noreturn]] void Fail(ErrorCode code,
                         const ConfigKey& key,
                         fmt::format_string<Args...> format,
                         Args&&... args) const {
    FailWith(code, key, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void FailWith(ErrorCode code, const ConfigKey& key, const std::string& text) const;
  std::string KeyText(const ConfigKey& key) const;

  const Checkpoint& checkpoint_;
  std::string architecture_;
};

}  // namespace whinchat
