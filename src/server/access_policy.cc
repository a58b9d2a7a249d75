// SPDX-License-Identifier: Apache-2.0
#include "server/access_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace whinchat {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// "http://localhost:3000" -> "localhost:3000".
std::string_view HostAndPort(std::string_view origin) {
  const size_t scheme_end = origin.find("://");
  return scheme_end == std::string_view::npos ? std::string_view() : origin.substr(scheme_end + 3);
}

std::string_view WithoutPort(std::string_view host) {
  const size_t bracket = host.rfind(']');  // an IPv6 address has colons of its own
  const size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

}  // namespace

bool ConstantTimeEquals(std::string_view secret, std::string_view guess) {
  size_t difference = secret.size() ^ guess.size();
  for (size_t i = 0; i < guess.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<size_t>(static_cast<unsigned char>(expected ^ guess[i]));
  }
  return difference == 0;
}

AccessPolicy::AccessPolicy(std::vector<std::string> api_keys,
                           std::vector<std::string> allowed_origins)
    : api_keys_(std::move(api_keys)), allowed_origins_(std::move(allowed_origins)) {}

bool AccessPolicy::IsKeyRight(std::string_view key) const {
  bool is_right = false;
  for (const std::string& known : api_keys_) {
    is_right |= ConstantTimeEquals(known, key);  // all of them, right or not
  }
  return is_right;
}

bool AccessPolicy::IsOriginAllowed(std::string_view origin, std::string_view host) const {
  const std::string_view origin_host = HostAndPort(origin);
  const std::string_view name = WithoutPort(origin_host);
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") {
    return true;
  }
  if (!origin_host.empty() && origin_host == host) {
    return true;  // the server's own page, whatever name it was reached by
  }
  return std::any_of(allowed_origins_.begin(), allowed_origins_.end(), [&](const auto& allowed) {
    return allowed == "*" || EqualsIgnoreCase(allowed, origin);
  });
}

std::optional<ErrorReply> AccessPolicy::Check(const HttpRequest& request) const {
  const std::string_view origin = request.Header("Origin");
  if (!origin.empty() && !IsOriginAllowed(origin, request.Header("Host"))) {
    return MakeErrorReply(403,
                          fmt::format("Pages of {} may not use this server; --allowed-origins "
                                      "lets them.",
                                      origin),
                          "origin_not_allowed");
  }
  const bool is_open = api_keys_.empty() || request.path == "/health" || request.path == "/ping";
  if (is_open || request.method == "OPTIONS") {
    return std::nullopt;
  }
  std::string_view key = request.Header("Authorization");
  if (key.size() >= kBearer.size() && EqualsIgnoreCase(key.substr(0, kBearer.size()), kBearer)) {
    key.remove_prefix(kBearer.size());
  } else {
    key = request.Header("X-Api-Key");
  }
  if (IsKeyRight(key)) {
    return std::nullopt;
  }
  return MakeErrorReply(401,
                        key.empty() ? "No API key given: send Authorization: Bearer KEY."
                                    : "The API key is not one of this server's.",
                        "invalid_api_key");
}

std::vector<HttpHeader> AccessPolicy::CorsHeaders(const HttpRequest& request) const {
  const std::string_view origin = request.Header("Origin");
  if (origin.empty() || !IsOriginAllowed(origin, request.Header("Host"))) {
    return {};
  }
  return {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
}

HttpResponse AccessPolicy::Preflight(const HttpRequest& request,
                                     std::string_view allowed_methods) const {
  HttpResponse response;
  response.status = 204;
  response.headers = {{"Allow", std::string(allowed_methods)}};
  if (!request.Header("Origin").empty()) {
    const std::string_view wanted = request.Header("Access-Control-Request-Headers");
    response.headers.push_back({"Access-Control-Allow-Methods", std::string(allowed_methods)});
    response.headers.push_back(
        {"Access-Control-Allow-Headers",
         wanted.empty() ? "Authorization, Content-Type" : std::string(wanted)});
    response.headers.push_back({"Access-Control-Max-Age", "600"});
  }
  return response;
}

}  // namespace whinchat
