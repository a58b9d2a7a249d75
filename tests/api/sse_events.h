// SPDX-License-Identifier: Apache-2.0
// Reads a stream of server-sent events back, strictly: each is one "data:" line and a blank line,
// and the last is [DONE].
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace whinchat {

inline std::vector<nlohmann::json> ReadSseEvents(const std::string& stream) {
  std::vector<nlohmann::json> events;
  bool is_done = false;
  size_t begin = 0;
  while (begin < stream.size()) {
    const size_t end = stream.find("\n\n", begin);
    if (end == std::string::npos || stream.compare(begin, 6, "data: ") != 0 || is_done) {
      ADD_FAILURE() << "not an event, or one after [DONE]: " << stream.substr(begin);
      return events;
    }
    const std::string payload = stream.substr(begin + 6, end - begin - 6);
    is_done = payload == "[DONE]";
    if (!is_done) {
      events.push_back(nlohmann::json::parse(payload));
    }
    begin = end + 2;
  }
  EXPECT_TRUE(is_done) << "the stream has no [DONE]";
  return events;
}

}  // namespace whinchat
