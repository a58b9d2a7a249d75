// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/json_text.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "checkpoint/foreign_bytes.h"

namespace whinchat {
namespace {

using nlohmann::json;

// Watches a parser: depth, and the keys of every object that is open.
class LimitChecker {
 public:
  LimitChecker(const std::string& file, const JsonLimits& limits) : file_(file), limits_(limits) {}

  void Check(int depth, json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        CheckDepth(depth);
        keys_.emplace_back();
        break;
      case json::parse_event_t::array_start:
        CheckDepth(depth);
        break;
      case json::parse_event_t::key:
        CheckKey(parsed.get_ref<const std::string&>());
        break;
      case json::parse_event_t::object_end:
        keys_.pop_back();
        break;
      case json::parse_event_t::array_end:
      case json::parse_event_t::value:
        break;
    }
  }

 private:
  void CheckDepth(int depth) const {
    if (depth >= limits_.max_depth) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has JSON nested deeper than {} levels",
                 file_,
                 limits_.max_depth);
    }
  }

  void CheckKey(const std::string& key) {
    if (!limits_.allow_duplicate_keys && !keys_.back().insert(key).second) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has the key '{}' twice in one object",
                 file_,
                 PrintableName(key));
    }
  }

  const std::string& file_;
  const JsonLimits& limits_;
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace

std::string JsonErrorText(const json::exception& error) {
  std::string text = error.what();
  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
  if (const size_t place = text.find(" at line "); place != std::string::npos) {
    text.erase(0, place + 4);
  } else if (const size_t bracket = text.find("] "); bracket != std::string::npos) {
    text.erase(0, bracket + 2);
  }
  return PrintableName(text);
}

json ParseJsonText(std::string_view text, const std::string& file, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' has {} bytes of JSON, but at most {} are allowed",
               file,
               text.size(),
               limits.max_bytes);
  }
  LimitChecker checker(file, limits);
  try {
    return json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) {
      checker.Check(depth, event, parsed);
      return true;
    });
  } catch (const json::exception& error) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' is {}",
                 file,
                 DescribeForeignBytes(std::as_bytes(std::span(text)), "JSON"));
    }
    ThrowError(ErrorCode::kCorruptFile, "'{}' is not valid JSON: {}", file, JsonErrorText(error));
  }
}

}  // namespace whinchat
