// SPDX-License-Identifier: Apache-2.0
// Who may ask: API keys for programs, origins for web pages. A page of another site must not reach
// a server on localhost through its visitor's browser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace whinchat {

class AccessPolicy {
 public:
  // Pages of localhost (any port) and of the server itself are always allowed; `allowed_origins`
  // adds others ("https://chat.example.org"), "*" all.
  AccessPolicy(std::vector<std::string> api_keys, std::vector<std::string> allowed_origins);

  // The refusal: 401 without a right key, 403 for a page of another site. /health and /ping are
  // open, for what asks them has no key.
  std::optional<ErrorReply> Check(const HttpRequest& request) const;

  // CORS headers that let the asking page read the answer; none if no page asks.
  std::vector<HttpHeader> CorsHeaders(const HttpRequest& request) const;
  // The answer to a page's OPTIONS.
  HttpResponse Preflight(const HttpRequest& request, std::string_view allowed_methods) const;

 private:
  bool IsKeyRight(std::string_view key) const;
  bool IsOriginAllowed(std::string_view origin, std::string_view host) const;

  std::vector<std::string> api_keys_;
  std::vector<std::string> allowed_origins_;
};

// Takes the same time wherever the first difference is.
bool ConstantTimeEquals(std::string_view secret, std::string_view guess);

}  // namespace whinchat
