// SPDX-License-Identifier: Apache-2.0
// How deeply JSON is nested, found without recursion: writing or reading deeper JSON would recurse
// as deeply and could run out of stack, so outside JSON is checked first.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace whinchat {

// What tool schemas, tool arguments and conversations may nest. The template engine stops at 128.
inline constexpr int kMaxJsonDepth = 100;

// Of text that may not be JSON at all: the greatest number of open brackets outside strings.
int JsonTextDepth(std::string_view text);

// Whether `json` nests more than `max_depth` arrays and objects.
bool IsDeeperThan(const nlohmann::ordered_json& json, int max_depth);

}  // namespace whinchat
