// SPDX-License-Identifier: Apache-2.0
// Every route, without sockets.
#include "server/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/sse_events.h"
#include "server/fake_exchange.h"
#include "server/fake_generator.h"
#include "server/test_loop.h"

namespace whinchat {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ServiceTest : public ::testing::Test {
 protected:
  void Load(FakeBehaviour behaviour = {}) {
    generator_ = std::make_unique<FakeGenerator>(std::move(behaviour));
    service().SetGenerator(generator_.get());
  }

  Service& service() {
    if (service_ == nullptr) {
      options_.version = "1.2.3";
      options_.log = [this](std::string_view line) { log_.emplace_back(line); };
      service_ = std::make_unique<Service>(options_, loop_.queue());
    }
    return *service_;
  }

  HttpResponse Ask(std::string method,
                   std::string path,
                   std::string body = "",
                   std::vector<HttpHeader> headers = {}) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.headers = std::move(headers);
    const auto exchange = std::make_shared<FakeExchange>(std::move(request));
    service().Handle(exchange);
    EXPECT_TRUE(loop_.RunUntil([&] { return exchange->is_complete; }));
    return exchange->response;
  }

  json AskJson(std::string method, std::string path, std::string body, int expected_status = 200) {
    const HttpResponse response = Ask(std::move(method), std::move(path), std::move(body));
    EXPECT_EQ(response.status, expected_status) << response.body;
    return json::parse(response.body);
  }

  json Chat(const std::string& fields, int expected_status = 200) {
    return AskJson("POST",
                   "/v1/chat/completions",
                   fmt::format(R"({{"messages":[{{"role":"user","content":"hi"}}]{}{}}})",
                               fields.empty() ? "" : ",",
                               fields),
                   expected_status);
  }

  ServerOptions options_;
  TestLoop loop_;
  std::vector<std::string> log_;
  std::unique_ptr<FakeGenerator> generator_;
  std::unique_ptr<Service> service_;  // its workers stop before the generator goes
};

TEST_F(ServiceTest, RefusesWorkWhileLoadingAndSaysWhenToComeBack) {
  for (const auto& [method, path] : {std::pair{"GET", "/v1/models"},
                                     {"GET", "/health"},
                                     {"POST", "/ping"},
                                     {"POST", "/tokenize"},
                                     {"POST", "/v1/completions"},
                                     {"POST", "/v1/chat/completions"}}) {
    const HttpResponse response = Ask(method, path, "{}");
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_EQ(json::parse(response.body)["error"]["code"], "model_loading") << path;
    ASSERT_FALSE(response.headers.empty());
    EXPECT_EQ(response.headers[0].name, "Retry-After");
  }
  EXPECT_EQ(Ask("GET", "/version").status, 200);
  EXPECT_EQ(Ask("GET", "/metrics").status, 200);
}

TEST_F(ServiceTest, HealthIsGoodOnlyWhileStepsMakeProgress) {
  options_.stuck_timeout = std::chrono::seconds(10);
  Load();
  for (const auto& [method, path] :
       {std::pair{"GET", "/health"}, {"POST", "/health"}, {"GET", "/ping"}, {"POST", "/ping"}}) {
    EXPECT_EQ(Ask(method, path).status, 200) << method << path;
  }
  generator_->seconds_since_last_step = 11;
  EXPECT_EQ(AskJson("GET", "/health", "", 503)["error"]["code"], "stuck");
  generator_->seconds_since_last_step = 9;
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  service().BeginDrain();
  EXPECT_EQ(AskJson("GET", "/health", "", 503)["error"]["code"], "draining");
  EXPECT_EQ(Chat("", 503)["error"]["code"], "draining");
}

TEST_F(ServiceTest, TellsItsNameAndVersion) {
  EXPECT_EQ(AskJson("GET", "/", ""), (json{{"name", "whinchat"}, {"version", "1.2.3"}}));
  EXPECT_EQ(AskJson("GET", "/version", ""), (json{{"version", "1.2.3"}}));
}

TEST_F(ServiceTest, AnswersChatUnderTheServedName) {
  options_.served_model_names = {"assistant", "other"};
  Load();
  const json body = Chat(R"("model":"Qwen/Qwen3-0.6B")");
  EXPECT_EQ(body["model"], "assistant");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "w0w1w2");
  const json models = AskJson("GET", "/v1/models", "");
  EXPECT_EQ(models["data"][0]["id"], "assistant");
  EXPECT_EQ(models["data"][0]["max_model_len"], 4096);
  EXPECT_EQ(AskJson("GET", "/v1/models/qwen/qwen3-0.6b", "")["id"], "qwen/qwen3-0.6b");
}

TEST_F(ServiceTest, AnotherModelIs404WithTheList) {
  Load();
  const json error = Chat(R"("model":"gpt-4")", 404)["error"];
  EXPECT_EQ(error["code"], "model_not_found");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("Qwen3-0.6B"));
  AskJson("GET", "/v1/models/gpt-4", "", 404);
  AskJson("POST", "/v1/completions", R"({"prompt":"x","model":"gpt-4"})", 404);
  AskJson("POST", "/tokenize", R"({"prompt":"x","model":"gpt-4"})", 404);
  AskJson("POST", "/detokenize", R"({"tokens":[],"model":"gpt-4"})", 404);
}

TEST_F(ServiceTest, StreamsAsServerSentEvents) {
  Load();
  const HttpResponse response =
      Ask("POST",
          "/v1/chat/completions",
          R"({"stream":true,"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(response.content_type, "text/event-stream; charset=utf-8");
  EXPECT_EQ(ReadSseEvents(response.body).size(), 5U);
}

TEST_F(ServiceTest, CompletesEveryShapeOfPrompt) {
  Load();
  const auto texts = [&](const std::string& prompt, const std::string& more) {
    const json body =
        AskJson("POST",
                "/v1/completions",
                fmt::format(R"({{"prompt":{}{}{}}})", prompt, more.empty() ? "" : ",", more));
    std::vector<std::string> choices;
    for (const json& choice : body["choices"]) {
      choices.push_back(choice["text"]);
    }
    return choices;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(R"("ab")", ""), (Texts{"w0w1w2"}));
  EXPECT_EQ(texts(R"(["a","b"])", R"("n":2,"echo":true,"max_tokens":1)"),
            (Texts{"aw0", "aw0", "bw0", "bw0"}));
  EXPECT_EQ(texts("[97,98]", R"("echo":true)"), (Texts{"abw0w1w2"}));
  EXPECT_EQ(texts("[[97],[98]]", ""), (Texts{"w0w1w2", "w0w1w2"}));
}

TEST_F(ServiceTest, EchoOfNoTokensComputesNothing) {
  Load();
  const json body =
      AskJson("POST", "/v1/completions", R"({"prompt":"abc","echo":true,"max_tokens":0})");
  EXPECT_EQ(body["choices"][0]["text"], "abc");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
}

TEST_F(ServiceTest, ChoicesWithASeedDifferByTheirPlace) {
  Load();
  Chat(R"("n":3,"seed":40)");
  EXPECT_EQ(generator_->last_options().sampling.seed, 42U);
}

TEST_F(ServiceTest, TooManyChoicesAreRefused) {
  Load();
  std::string prompts = "\"a\"";
  for (int i = 1; i < 33; ++i) {
    prompts += ",\"a\"";
  }
  EXPECT_EQ(AskJson("POST",
                    "/v1/completions",
                    fmt::format(R"({{"prompt":[{}],"n":2}})", prompts),
                    400)["error"]["param"],
            "n");
  EXPECT_EQ(generator_->num_running(), 0);
}

TEST_F(ServiceTest, ALongPromptIsRefusedWithBothNumbers) {
  Load({.max_prompt_bytes = 5});
  const json error = Chat("", 400)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "messages");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("8 tokens; the context is 5"));
  EXPECT_EQ(AskJson("POST", "/v1/completions", R"({"prompt":"abcdef"})", 400)["error"]["param"],
            "prompt");
}

TEST_F(ServiceTest, AFullQueueIs429AndLeavesNothingRunning) {
  Load({.max_running = 1});
  const HttpResponse response =
      Ask("POST", "/v1/chat/completions", R"({"n":2,"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at(0).name, "Retry-After");
  EXPECT_EQ(generator_->num_running(), 0);  // the first choice was dropped with the second
}

TEST_F(ServiceTest, TokenizesTextAndConversations) {
  Load();
  EXPECT_EQ(AskJson("POST", "/tokenize", R"({"prompt":"ab","return_token_strs":true})"),
            (json{{"count", 2},
                  {"max_model_len", 4096},
                  {"tokens", {97, 98}},
                  {"token_strs", {"a", "b"}}}));
  EXPECT_EQ(
      AskJson("POST", "/tokenize", R"({"messages":[{"role":"user","content":"a"}]})")["count"], 7);
  EXPECT_EQ(AskJson("POST", "/detokenize", R"({"tokens":[97,98]})"), (json{{"prompt", "ab"}}));
}

TEST_F(ServiceTest, UnknownFieldsAreLoggedOnce) {
  Load();
  Chat(R"("frob":1)");
  Chat(R"("frob":2)");
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_THAT(log_[0], HasSubstr("\"frob\""));
}

TEST_F(ServiceTest, UnknownPathsAndMethodsAreNamed) {
  Load();
  EXPECT_EQ(Ask("GET", "/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/models/").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/chat/completions/x").status, 404);
  const HttpResponse response = Ask("GET", "/v1/chat/completions");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at(0).name, "Allow");
  EXPECT_EQ(response.headers.at(0).value, "POST, OPTIONS");
  EXPECT_EQ(Ask("HEAD", "/health").status, 200);
  EXPECT_EQ(Ask("OPTIONS", "/v1/models").status, 204);
  EXPECT_EQ(Ask("OPTIONS", "/nothing").status, 404);
}

TEST_F(ServiceTest, KeysAndOriginsGuardEveryRouteButHealth) {
  options_.api_keys = {"k"};
  Load();
  EXPECT_EQ(Ask("GET", "/v1/models").status, 401);
  EXPECT_EQ(Ask("GET", "/nothing").status, 401);
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models", "", {{"Authorization", "Bearer k"}}).status, 200);
  EXPECT_EQ(Ask("GET", "/health", "", {{"Origin", "https://evil.example"}}).status, 403);
}

TEST_F(ServiceTest, AClientThatLeavesDuringTokenizingLeavesNothingRunning) {
  Load({.num_words = 100000,
        .interval = std::chrono::milliseconds(1),
        .encode_time = std::chrono::milliseconds(30)});
  HttpRequest request;
  request.method = "POST";
  request.path = "/v1/chat/completions";
  request.body = R"({"messages":[{"role":"user","content":"hi"}]})";
  const auto exchange = std::make_shared<FakeExchange>(request);
  service().Handle(exchange);
  ASSERT_TRUE(loop_.RunUntil([start = std::chrono::steady_clock::now()] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(10);
  }));
  exchange->Leave();
  loop_.RunUntil([&] { return generator_->num_running() > 0; }, std::chrono::milliseconds(200));
  EXPECT_TRUE(loop_.RunUntil([&] { return generator_->num_running() == 0; }));
}

}  // namespace
}  // namespace whinchat
