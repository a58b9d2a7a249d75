// SPDX-License-Identifier: Apache-2.0
#include "server/access_policy.h"

#include <gtest/gtest.h>

namespace whinchat {
namespace {

HttpRequest Request(std::vector<HttpHeader> headers, std::string path = "/v1/models") {
  HttpRequest request;
  request.method = "GET";
  request.path = std::move(path);
  request.headers = std::move(headers);
  return request;
}

int StatusOf(const AccessPolicy& policy, const HttpRequest& request) {
  const auto refusal = policy.Check(request);
  return refusal.has_value() ? refusal->http_status : 200;
}

TEST(ConstantTimeEquals, IsEquality) {
  EXPECT_TRUE(ConstantTimeEquals("secret", "secret"));
  EXPECT_TRUE(ConstantTimeEquals("", ""));
  for (const char* guess : {"", "s", "secreT", "secretsecret", "secrets", "Secret"}) {
    EXPECT_FALSE(ConstantTimeEquals("secret", guess)) << guess;
  }
  EXPECT_FALSE(ConstantTimeEquals("", "x"));
}

TEST(ApiKeys, AnyOfThemOpensAndNothingElseDoes) {
  const AccessPolicy policy({"one", "two"}, {});
  EXPECT_EQ(StatusOf(policy, Request({{"Authorization", "Bearer one"}})), 200);
  EXPECT_EQ(StatusOf(policy, Request({{"authorization", "bearer two"}})), 200);
  EXPECT_EQ(StatusOf(policy, Request({{"X-Api-Key", "two"}})), 200);
  EXPECT_EQ(StatusOf(policy, Request({})), 401);
  EXPECT_EQ(StatusOf(policy, Request({{"Authorization", "Bearer three"}})), 401);
  EXPECT_EQ(StatusOf(policy, Request({{"Authorization", "Basic one"}})), 401);
  EXPECT_EQ(StatusOf(policy, Request({{"Authorization", "Bearer "}})), 401);
  EXPECT_EQ(policy.Check(Request({}))->code, "invalid_api_key");
}

TEST(ApiKeys, HealthIsOpen) {
  const AccessPolicy policy({"one"}, {});
  EXPECT_EQ(StatusOf(policy, Request({}, "/health")), 200);
  EXPECT_EQ(StatusOf(policy, Request({}, "/ping")), 200);
  EXPECT_EQ(StatusOf(policy, Request({}, "/metrics")), 401);
}

TEST(ApiKeys, WithoutAnyTheServerIsOpen) {
  EXPECT_EQ(StatusOf(AccessPolicy({}, {}), Request({{"Authorization", "Bearer x"}})), 200);
}

TEST(Origins, OnlyLocalhostAndTheServersOwnPagesByDefault) {
  const AccessPolicy policy({}, {});
  for (const char* origin : {"http://localhost",
                             "http://localhost:3000",
                             "https://127.0.0.1:8443",
                             "http://[::1]:80",
                             "http://pi.lan:8000"}) {
    EXPECT_EQ(StatusOf(policy, Request({{"Origin", origin}, {"Host", "pi.lan:8000"}})), 200)
        << origin;
  }
  for (const char* origin : {"https://evil.example",
                             "http://localhost.evil.example",
                             "null",
                             "http://pi.lan:9000",
                             "localhost",
                             "http://evil.example:80#localhost"}) {
    EXPECT_EQ(StatusOf(policy, Request({{"Origin", origin}, {"Host", "pi.lan:8000"}})), 403)
        << origin;
  }
}

TEST(Origins, OthersCanBeAllowed) {
  const AccessPolicy one({}, {"https://chat.example"});
  EXPECT_EQ(StatusOf(one, Request({{"Origin", "https://chat.example"}})), 200);
  EXPECT_EQ(StatusOf(one, Request({{"Origin", "http://chat.example"}})), 403);
  EXPECT_EQ(StatusOf(AccessPolicy({}, {"*"}), Request({{"Origin", "https://any.example"}})), 200);
}

TEST(Origins, CorsHeadersNameTheAskingPageOnly) {
  const AccessPolicy policy({}, {});
  EXPECT_TRUE(policy.CorsHeaders(Request({})).empty());
  EXPECT_TRUE(policy.CorsHeaders(Request({{"Origin", "https://evil.example"}})).empty());
  const auto headers = policy.CorsHeaders(Request({{"Origin", "http://localhost:5173"}}));
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].value, "http://localhost:5173");
  EXPECT_EQ(headers[1].name, "Vary");
}

TEST(Origins, PreflightAllowsTheHeadersAskedFor) {
  HttpRequest request = Request({{"Origin", "http://localhost"},
                                 {"Access-Control-Request-Headers", "authorization,x-custom"}});
  request.method = "OPTIONS";
  const AccessPolicy policy({"key"}, {});
  EXPECT_FALSE(policy.Check(request).has_value());  // a browser sends no key with it
  const HttpResponse response = policy.Preflight(request, "POST, OPTIONS");
  EXPECT_EQ(response.status, 204);
  bool has_headers = false;
  for (const HttpHeader& header : response.headers) {
    has_headers |=
        header.name == "Access-Control-Allow-Headers" && header.value == "authorization,x-custom";
  }
  EXPECT_TRUE(has_headers);
}

}  // namespace
}  // namespace whinchat
