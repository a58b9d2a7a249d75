// SPDX-License-Identifier: Apache-2.0
#include "api/sse.h"

#include <fmt/format.h>

namespace whinchat {

std::string SseEvent(std::string_view payload) {
  return fmt::format("data: {}\n\n", payload);
}

std::string SseDone() {
  return SseEvent("[DONE]");
}

std::string SseComment(std::string_view text) {
  return fmt::format(": {}\n\n", text);
}

}  // namespace whinchat
