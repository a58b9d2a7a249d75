// SPDX-License-Identifier: Apache-2.0
#include "chat/json_depth.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace whinchat {

int JsonTextDepth(std::string_view text) {
  int depth = 0;
  int max_depth = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      i += c == '\\' ? 1U : 0U;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      max_depth = std::max(max_depth, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return max_depth;
}

bool IsDeeperThan(const nlohmann::ordered_json& json, int max_depth) {
  std::vector<std::pair<const nlohmann::ordered_json*, int>> to_visit = {{&json, 1}};
  while (!to_visit.empty()) {
    const auto [value, depth] = to_visit.back();
    to_visit.pop_back();
    if (!value->is_structured()) {
      continue;
    }
    if (depth > max_depth) {
      return true;
    }
    for (const auto& element : *value) {
      to_visit.emplace_back(&element, depth + 1);
    }
  }
  return false;
}

}  // namespace whinchat
