// SPDX-License-Identifier: Apache-2.0
// The server over real sockets: framing, limits, deadlines, clients that leave, draining.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "server/fake_generator.h"
#include "server/server.h"

namespace whinchat {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using ::testing::HasSubstr;

// A client that sends and reads raw bytes.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Close() {
    if (socket_ >= 0) {
      ::close(socket_);
      socket_ = -1;
    }
  }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;  // the server closed; what it answered is still to be read
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // Everything until `end` appears, the server closes or time is up.
  std::string ReadUntil(std::string_view end, milliseconds timeout = milliseconds(5000)) {
    const auto give_up_at = Clock::now() + timeout;
    while (received_.find(end) == std::string::npos && Clock::now() < give_up_at) {
      if (!ReadSome(milliseconds(50)) && is_closed_) {
        break;
      }
    }
    const size_t at = received_.find(end);
    const size_t length = at == std::string::npos ? received_.size() : at + end.size();
    std::string text = received_.substr(0, length);
    received_.erase(0, length);
    return text;
  }
  std::string ReadToEnd(milliseconds timeout = milliseconds(5000)) {
    return ReadUntil("\x01 never sent", timeout);
  }
  bool is_closed() const { return is_closed_; }

 private:
  bool ReadSome(milliseconds timeout) {
    pollfd descriptor{socket_, POLLIN, 0};
    if (::poll(&descriptor, 1, static_cast<int>(timeout.count())) <= 0) {
      return false;
    }
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof(bytes), 0);
    is_closed_ = count <= 0;
    received_.append(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return !is_closed_;
  }

  int socket_;
  std::string received_;
  bool is_closed_ = false;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(FakeBehaviour behaviour = {}) {
    options_.port = 0;
    generator_ = std::make_unique<FakeGenerator>(std::move(behaviour));
    server_ = std::make_unique<HttpServer>(options_);
    server_->SetGenerator(generator_.get());
    thread_ = std::thread([this] { exit_status_ = server_->Run(); });
  }

  void TearDown() override {
    if (thread_.joinable()) {
      server_->Stop();
      thread_.join();
    }
    EXPECT_EQ(exit_status_, 0);
    server_.reset();
    if (generator_ != nullptr) {
      EXPECT_EQ(generator_->num_running(), 0);
    }
  }

  uint16_t port() const { return server_->port(); }

  bool Eventually(const std::function<bool()>& holds, milliseconds timeout = milliseconds(5000)) {
    const auto give_up_at = Clock::now() + timeout;
    while (Clock::now() < give_up_at) {
      if (holds()) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    return holds();
  }

  ServerOptions options_;
  std::unique_ptr<FakeGenerator> generator_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  int exit_status_ = 0;
};

constexpr std::string_view kGetHealth = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kOk = R"({"status":"ok"})";

std::string Post(std::string_view body, std::string_view more_headers = "") {
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}",
      more_headers,
      body.size(),
      body);
}

const std::string kChat = Post(R"({"messages":[{"role":"user","content":"hi"}]})");
const std::string kStream =
    Post(R"({"stream":true,"max_tokens":100000,"messages":[{"role":"user","content":"hi"}]})");

TEST_F(HttpServerTest, AnswersManyRequestsOnOneConnection) {
  Start();
  RawClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.Send(kGetHealth);
    EXPECT_THAT(client.ReadUntil(kOk), HasSubstr("HTTP/1.1 200 OK"));
    client.Send(kChat);
    EXPECT_THAT(client.ReadUntil("\"reasoning_tokens\":0}}}"), HasSubstr("w0w1w2"));
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  Start({.num_words = 2, .interval = milliseconds(20)});
  RawClient client(port());
  std::string requests = kChat;
  for (int i = 0; i < 50; ++i) {
    requests += kGetHealth;
  }
  client.Send(requests + "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadToEnd();
  EXPECT_LT(answers.find("w0w1"), answers.find(kOk));
  EXPECT_LT(answers.rfind(kOk), answers.find("\"version\""));
  size_t num_answers = 0;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) {
    ++num_answers;
  }
  EXPECT_EQ(num_answers, 52U);
}

TEST_F(HttpServerTest, TakesARequestByteByByte) {
  Start();
  RawClient client(port());
  for (const char c : kChat) {
    client.Send(std::string_view(&c, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_THAT(client.ReadUntil("usage"), HasSubstr("w0w1w2"));
}

TEST_F(HttpServerTest, StreamsChunkedAndEndsTheBody) {
  Start({.num_words = 3, .interval = milliseconds(5)});
  RawClient client(port());
  client.Send(kStream);
  const std::string answer = client.ReadUntil("\r\n0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(answer, HasSubstr("w2"));
  EXPECT_THAT(answer, HasSubstr("data: [DONE]\n\n\r\n0\r\n\r\n"));
  client.Send(kGetHealth);
  EXPECT_THAT(client.ReadUntil(kOk), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, Http10GetsABareBodyAndTheEnd) {
  Start();
  RawClient client(port());
  client.Send(
      "POST /v1/completions HTTP/1.0\r\nContent-Length: 28\r\n\r\n"
      R"({"prompt":"x","stream":true})");
  const std::string answer = client.ReadToEnd();
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\ndata: {"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Start();
  RawClient client(port());
  client.Send("HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.ReadToEnd().ends_with("Connection: close\r\n\r\n"));
}

TEST_F(HttpServerTest, SaysContinueToAClientThatAsks) {
  Start();
  RawClient client(port());
  const std::string request =
      Post(R"({"messages":[{"role":"user","content":"hi"}]})", "Expect: 100-continue\r\n");
  const size_t body_begin = request.find("\r\n\r\n") + 4;
  client.Send(request.substr(0, body_begin));
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send(request.substr(body_begin));
  EXPECT_THAT(client.ReadUntil("usage"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, ABodyBeyondTheLimitIs413BeforeItIsRead) {
  options_.max_body_bytes = 1000;
  Start();
  RawClient expecting(port());
  expecting.Send(
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_THAT(expecting.ReadToEnd(), HasSubstr("HTTP/1.1 413"));

  RawClient pushing(port());
  pushing.Send(Post(std::string(300'000, ' ')));
  EXPECT_THAT(pushing.ReadToEnd(), HasSubstr("\"code\":\"body_too_large\""));

  RawClient chunked(port());
  chunked.Send("POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" +
               std::string(0x800, ' ') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.ReadToEnd(), HasSubstr("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, BadHttpIsRefused) {
  options_.max_header_bytes = 2000;
  Start();
  for (const auto& [bytes, status] :
       {std::pair<std::string, const char*>{"nonsense\r\n\r\n", "HTTP/1.1 400"},
        {"GET /health HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},  // no Host
        {"GET /health HTTP/9.9\r\nHost: x\r\n\r\n", "HTTP/1.1 400"},
        {"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 400"},
        {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(3000, 'y') + "\r\n\r\n",
         "HTTP/1.1 431"}}) {
    RawClient client(port());
    client.Send(bytes);
    EXPECT_THAT(client.ReadToEnd(), HasSubstr(status)) << bytes.substr(0, 60);
  }
  RawClient client(port());
  client.Send(kGetHealth);
  EXPECT_THAT(client.ReadUntil(kOk), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, SlowHeadersAndBodiesAreCutOff) {
  options_.header_timeout = milliseconds(200);
  options_.body_timeout = milliseconds(200);
  Start();
  RawClient silent(port());
  RawClient half_head(port());
  half_head.Send("GET /health HTTP/1.1\r\nHo");
  RawClient half_body(port());
  half_body.Send("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{");
  const auto begin = Clock::now();
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_THAT(half_head.ReadToEnd(), HasSubstr("HTTP/1.1 408"));
  EXPECT_THAT(half_body.ReadToEnd(), HasSubstr("HTTP/1.1 408"));
  EXPECT_TRUE(silent.is_closed() && half_head.is_closed() && half_body.is_closed());
  EXPECT_LT(Clock::now() - begin, milliseconds(4000));
}

TEST_F(HttpServerTest, AHeaderDripDoesNotExtendItsDeadline) {
  options_.header_timeout = milliseconds(300);
  Start();
  RawClient client(port());
  const auto begin = Clock::now();
  client.Send("GET /health HTTP/1.1\r\nX: ");
  while (!client.is_closed() && Clock::now() - begin < milliseconds(4000)) {
    client.Send("y");
    client.ReadUntil("never", milliseconds(50));
  }
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, HalfSentRequestsDoNotKeepOthersWaiting) {
  Start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->Send("GET /hea");
  }
  RawClient client(port());
  const auto begin = Clock::now();
  client.Send(kGetHealth);
  EXPECT_THAT(client.ReadUntil(kOk), HasSubstr("200 OK"));
  EXPECT_LT(Clock::now() - begin, milliseconds(500));
}

TEST_F(HttpServerTest, AClientThatLeavesIsNoticedAtOnceStreamingOrNot) {
  Start({.num_words = 100'000, .interval = milliseconds(5)});
  RawClient streaming(port());
  streaming.Send(kStream);
  streaming.ReadUntil("w1");
  RawClient waiting(port());
  waiting.Send(Post(R"({"max_tokens":100000,"messages":[{"role":"user","content":"hi"}]})"));
  ASSERT_TRUE(Eventually([&] { return generator_->num_running() == 2; }));
  const auto begin = Clock::now();
  streaming.Close();
  waiting.Close();
  EXPECT_TRUE(Eventually([&] { return generator_->num_running() == 0; }));
  EXPECT_LT(Clock::now() - begin, milliseconds(500));
}

TEST_F(HttpServerTest, AClientThatSentMoreAndLeftIsNoticedToo) {
  Start({.num_words = 100'000, .interval = milliseconds(5)});
  RawClient client(port());
  client.Send(kStream + std::string(kGetHealth));
  client.ReadUntil("w1");
  // More than the server reads ahead: the end of the stream stands behind unread bytes.
  std::thread flood([&] { client.Send(std::string(200'000, 'x')); });
  flood.join();
  client.Close();
  EXPECT_TRUE(Eventually([&] { return generator_->num_running() == 0; }));
}

TEST_F(HttpServerTest, AReaderThatStopsIsCutOffAndItsAnswerCancelled) {
  options_.write_timeout = milliseconds(300);
  Start({.num_words = 100'000, .interval = milliseconds(0), .word = std::string(500, 'x')});
  RawClient client(port());
  client.Send(kStream);
  EXPECT_TRUE(Eventually([&] { return generator_->num_running() == 1; }));
  EXPECT_TRUE(Eventually([&] { return generator_->num_running() == 0; }, milliseconds(10'000)));
}

TEST_F(HttpServerTest, ManyStreamsAtOnceAllArrive) {
  Start({.num_words = 20, .interval = milliseconds(5)});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    clients.back()->Send(kStream);
  }
  for (const auto& client : clients) {
    const std::string answer = client->ReadUntil("[DONE]");
    for (int word = 0; word < 20; ++word) {
      EXPECT_THAT(answer, HasSubstr(fmt::format("\"content\":\"w{}\"", word)));
    }
  }
}

TEST_F(HttpServerTest, ConnectionsBeyondTheCapAreRefused) {
  options_.max_connections = 2;
  Start();
  RawClient first(port());
  RawClient second(port());
  first.Send(kGetHealth);
  second.Send(kGetHealth);
  first.ReadUntil(kOk);
  second.ReadUntil(kOk);
  RawClient third(port());
  EXPECT_THAT(third.ReadToEnd(), HasSubstr("HTTP/1.1 503"));
  first.Close();
  EXPECT_TRUE(Eventually([&] {
    RawClient again(port());
    again.Send(kGetHealth);
    return again.ReadUntil(kOk).find("200 OK") != std::string::npos;
  }));
}

TEST_F(HttpServerTest, CorsHeadersAreOnStreamsToo) {
  Start();
  RawClient client(port());
  client.Send(Post(R"({"stream":true,"messages":[{"role":"user","content":"hi"}]})",
                   "Origin: http://localhost:3000\r\n"));
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"),
              HasSubstr("Access-Control-Allow-Origin: http://localhost:3000\r\n"));
}

TEST_F(HttpServerTest, DrainingLetsRunningAnswersFinishAndClosesTheRest) {
  Start({.num_words = 20, .interval = milliseconds(20)});
  RawClient idle(port());
  idle.Send(kGetHealth);
  idle.ReadUntil(kOk);
  RawClient streaming(port());
  streaming.Send(kStream);
  streaming.ReadUntil("w1");
  ::raise(SIGTERM);
  EXPECT_THAT(streaming.ReadToEnd(), HasSubstr("[DONE]"));
  EXPECT_EQ(idle.ReadToEnd(), "");
  thread_.join();
  EXPECT_EQ(exit_status_, 0);
}

TEST_F(HttpServerTest, DrainingGivesUpInTime) {
  options_.drain_timeout = milliseconds(200);
  Start({.num_words = 100'000, .interval = milliseconds(5)});
  RawClient streaming(port());
  streaming.Send(kStream);
  streaming.ReadUntil("w1");
  const auto begin = Clock::now();
  server_->Stop();
  thread_.join();
  EXPECT_LT(Clock::now() - begin, milliseconds(2000));
  EXPECT_EQ(generator_->num_running(), 0);
}

TEST_F(HttpServerTest, AnIdleServerStopsAtOnce) {
  Start();
  const auto begin = Clock::now();
  server_->Stop();
  thread_.join();
  EXPECT_LT(Clock::now() - begin, milliseconds(500));
}

TEST(HttpServer, ATakenPortIsAnErrorThatSaysSo) {
  ServerOptions options;
  options.port = 0;
  const HttpServer first(options);
  options.port = first.port();
  try {
    const HttpServer second(options);
    FAIL() << "bound twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.message(), HasSubstr("--port"));
  }
  options.host = "no such host";
  EXPECT_THROW(HttpServer{options}, Error);
}

TEST(HttpServer, ASecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto drain_forever = [] {
    ServerOptions options;
    options.port = 0;
    FakeGenerator generator({.num_words = 100'000, .interval = milliseconds(5)});
    HttpServer server(options);
    server.SetGenerator(&generator);
    std::thread run([&] { server.Run(); });
    RawClient client(server.port());
    client.Send(kStream);
    client.ReadUntil("w1");
    ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(milliseconds(100));
    ::kill(::getpid(), SIGTERM);
    run.join();
  };
  EXPECT_EXIT(drain_forever(), ::testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace whinchat
