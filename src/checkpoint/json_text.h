// SPDX-License-Identifier: Apache-2.0
// Parses JSON from outside with bounds on size and depth, and errors that name the file.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace whinchat {

struct JsonLimits {
  size_t max_bytes = size_t{32} << 20;
  int max_depth = 64;
  // Python keeps the last of two equal keys, so hand-edited configs may have them; where a key
  // decides what is read from where, two are refused.
  bool allow_duplicate_keys = false;
};

// `file` is for messages. Throws Error{kCorruptFile}.
nlohmann::json ParseJsonText(std::string_view text,
                             const std::string& file,
                             const JsonLimits& limits);

// What went wrong, without the library's own prefix: "line 3, column 7: ...".
std::string JsonErrorText(const nlohmann::json::exception& error);

}  // namespace whinchat
