// SPDX-License-Identifier: Apache-2.0
// Server-sent events, as OpenAI's streams use them: "data: {json}\n\n" and at last "data: [DONE]".
#pragma once

#include <string>
#include <string_view>

namespace whinchat {

// `payload` is one line.
std::string SseEvent(std::string_view payload);
std::string SseDone();
// A line that clients skip; keeps proxies from closing a silent stream.
std::string SseComment(std::string_view text);

}  // namespace whinchat
