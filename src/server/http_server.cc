// SPDX-License-Identifier: Apache-2.0
// Sockets: accepts, reads requests within limits and deadlines, sends what routes answer, and
// watches each client while its answer is made. One thread, one coroutine a connection. The only
// file that includes Beast, which takes most of a minute to compile.
#include <fmt/format.h>
#include <poll.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <cstdlib>
#include <set>
#include <utility>

#include "server/answer_buffer.h"
#include "server/server.h"
#include "server/service.h"

namespace whinchat {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using namespace boost::asio::experimental::awaitable_operators;  // NOLINT: a || b

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// Of the next requests a client may send ahead. Above it, its bytes wait in the kernel.
constexpr size_t kMaxPipelinedBytes = 64 << 10;
constexpr size_t kReadBytes = 8 << 10;
constexpr milliseconds kHangUpPollInterval{100};
constexpr milliseconds kLingerTimeout{2'000};
constexpr milliseconds kAcceptRetryInterval{100};

using RequestParser = http::request_parser<http::string_body>;

HttpRequest TakeRequest(RequestParser& parser) {
  HttpRequest request;
  request.method = parser.get().method_string();
  request.path = DecodePath(parser.get().target());
  for (const auto& field : parser.get()) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  request.body = std::move(parser.get().body());
  return request;
}

}  // namespace

struct HttpServer::State {
  class Connection;

  explicit State(ServerOptions given)
      : options(std::move(given)),
        loop(
            std::make_shared<TaskQueue>([this] { asio::post(io, [this] { loop->RunPosted(); }); })),
        service(options, loop) {
    Listen();
  }

  ~State() {
    service.StopWorkers();
    loop->Close();
  }

  void Listen();
  asio::awaitable<void> Accept();
  void Admit(tcp::socket socket);
  void WatchSignals();
  void BeginDrain();
  void StopIfIdle();
  void DropExchanges();

  const ServerOptions options;
  asio::io_context io{1};
  std::shared_ptr<TaskQueue> loop;
  Service service;
  tcp::acceptor acceptor{io};
  asio::signal_set signals{io};
  asio::steady_timer drain_timer{io};
  uint16_t port = 0;
  bool is_draining = false;
  std::set<Connection*> connections;
  std::set<std::shared_ptr<AnswerBuffer>> exchanges;  // being answered
};

class HttpServer::State::Connection
    : public std::enable_shared_from_this<HttpServer::State::Connection> {
 public:
  Connection(State& server, tcp::socket socket)
      : server_(server),
        socket_(std::move(socket)),
        deadline_(server.io),
        has_bytes_(server.io, asio::steady_timer::time_point::max()),
        buffer_(server.options.max_header_bytes + kMaxPipelinedBytes + kReadBytes) {}

  asio::awaitable<void> Run() {
    socket_.set_option(tcp::no_delay(true), ignored_);
    milliseconds patience = server_.options.header_timeout;
    while (co_await ServeOne(patience)) {
      patience = server_.options.idle_timeout;
    }
    is_busy_ = false;
    server_.StopIfIdle();
    co_await Linger();
  }

  // A request has begun to arrive, or is being answered.
  bool is_busy() const { return is_busy_; }
  void Close() { socket_.close(ignored_); }

 private:
  // Reads a request and sends its answer; whether another may follow. `patience` is how long the
  // client may take to begin.
  asio::awaitable<bool> ServeOne(milliseconds patience) {
    is_busy_ = false;
    server_.StopIfIdle();
    if (buffer_.size() == 0 && !co_await ReadSome(patience)) {
      co_return false;
    }
    is_busy_ = true;
    RequestParser parser;
    parser.header_limit(server_.options.max_header_bytes);
    parser.body_limit(server_.options.max_body_bytes);
    const error_code error = co_await ReadRequest(parser);
    if (error) {
      co_await Refuse(error);
      co_return false;
    }
    const bool is_sent = co_await Answer(parser);
    co_return is_sent && !server_.is_draining;
  }

  asio::awaitable<bool> ReadSome(milliseconds timeout) {
    SetDeadline(timeout);
    const auto [error, num_bytes] =
        co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
    LiftDeadline();
    buffer_.commit(num_bytes);
    co_return !error;
  }

  asio::awaitable<error_code> ReadRequest(RequestParser& parser) {
    SetDeadline(server_.options.header_timeout);
    auto [error, num_bytes] = co_await http::async_read_header(socket_, buffer_, parser, kAwait);
    if (error) {
      co_return error;
    }
    SetDeadline(server_.options.body_timeout);
    if (!parser.is_done() && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      co_await asio::async_write(
          socket_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), kAwait);
    }
    std::tie(error, num_bytes) = co_await http::async_read(socket_, buffer_, parser, kAwait);
    LiftDeadline();
    co_return error;
  }

  // Whether all of the answer was sent and the connection can go on.
  asio::awaitable<bool> Answer(RequestParser& parser) {
    AnswerForm form;
    form.is_http_11 = parser.get().version() >= 11;
    form.keep_alive = parser.get().keep_alive() && !server_.is_draining;
    const bool has_host = parser.get().count(http::field::host) > 0;
    HttpRequest request = TakeRequest(parser);
    form.is_head = request.method == "HEAD";
    form.common_headers = server_.service.CommonHeaders(request);
    const auto exchange = MakeExchange(std::move(request), std::move(form));
    server_.exchanges.insert(exchange);
    if (exchange->request().path.empty() || (parser.get().version() >= 11 && !has_host)) {
      exchange->Respond(ErrorResponse(MakeErrorReply(400, "The request has no path or no Host.")));
    } else {
      server_.service.Handle(exchange);
    }
    const auto outcome = co_await (SendAnswer(*exchange) || WatchClient());
    const bool is_sent = outcome.index() == 0 && std::get<0>(outcome);
    if (!is_sent) {
      exchange->MarkGone();
    }
    server_.exchanges.erase(exchange);
    co_return is_sent && exchange->keep_alive();
  }

  std::shared_ptr<AnswerBuffer> MakeExchange(HttpRequest request, AnswerForm form) {
    const auto exchange = std::make_shared<AnswerBuffer>(
        std::move(request), std::move(form), [&service = server_.service](int status) {
          service.CountResponse(status);
        });
    exchange->SetWriterWake([weak = weak_from_this()] {
      if (const auto connection = weak.lock()) {
        connection->has_bytes_.cancel();
      }
    });
    return exchange;
  }

  asio::awaitable<bool> SendAnswer(AnswerBuffer& exchange) {
    while (exchange.has_unsent() || !exchange.is_complete()) {
      if (!exchange.has_unsent()) {
        co_await has_bytes_.async_wait(kAwait);
        continue;
      }
      const std::string bytes = exchange.TakeUnsent();
      for (size_t sent = 0; sent < bytes.size();) {
        SetDeadline(server_.options.write_timeout);
        const auto [error, num_bytes] = co_await socket_.async_write_some(
            asio::buffer(bytes.data() + sent, bytes.size() - sent), kAwait);
        LiftDeadline();
        if (error) {
          co_return false;
        }
        sent += num_bytes;
        exchange.MarkSent(num_bytes);
      }
    }
    co_return true;
  }

  // Returns when the client is gone. What it sends meanwhile is the next request and is kept. A
  // client that closes its sending side counts as gone: that is what a closed browser tab does.
  asio::awaitable<void> WatchClient() {
    asio::steady_timer poll_timer(server_.io);
    while (true) {
      if (buffer_.size() < kMaxPipelinedBytes) {
        const auto [error, num_bytes] =
            co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
        buffer_.commit(num_bytes);
        if (error) {
          co_return;
        }
      } else {
        poll_timer.expires_after(kHangUpPollInterval);
        co_await poll_timer.async_wait(kAwait);
        if (HasHungUp()) {
          co_return;
        }
      }
    }
  }

  // Without reading: the end of the stream may stand behind bytes nobody wants yet.
  bool HasHungUp() {
    pollfd descriptor{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&descriptor, 1, 0) > 0;
  }

  asio::awaitable<void> Refuse(error_code error) {
    ErrorReply reply;
    if (error == http::error::body_limit) {
      reply = MakeErrorReply(
          413,
          fmt::format("The request body is larger than {} bytes.", server_.options.max_body_bytes),
          "body_too_large");
    } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      reply = MakeErrorReply(431,
                             fmt::format("The request head is larger than {} bytes.",
                                         server_.options.max_header_bytes));
    } else if (has_timed_out_) {
      reply = MakeErrorReply(408, "The request took too long to arrive.");
    } else if (error.category() == make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      reply = MakeErrorReply(400, fmt::format("This is not HTTP: {}.", error.message()));
    } else {
      co_return;  // the client left
    }
    AnswerForm form;
    form.keep_alive = false;
    const auto exchange = MakeExchange({}, std::move(form));
    exchange->Respond(ErrorResponse(reply));
    co_await SendAnswer(*exchange);
  }

  // Closing at once while bytes still arrive would reset the connection and could take the answer
  // with it: tell the client, then read until it is done.
  asio::awaitable<void> Linger() {
    socket_.shutdown(tcp::socket::shutdown_send, ignored_);
    buffer_.clear();
    SetDeadline(kLingerTimeout);
    while (socket_.is_open() && !has_timed_out_) {
      const auto [error, num_bytes] =
          co_await socket_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
      if (error) {
        break;
      }
    }
    LiftDeadline();
    Close();
  }

  // When it passes, what the socket waits for ends with an error.
  void SetDeadline(milliseconds timeout) {
    has_timed_out_ = false;
    deadline_.expires_after(timeout);
    deadline_.async_wait([weak = weak_from_this(), id = ++deadline_id_](error_code error) {
      const auto connection = weak.lock();
      if (!error && connection != nullptr && connection->deadline_id_ == id) {
        connection->has_timed_out_ = true;
        connection->socket_.cancel(connection->ignored_);
      }
    });
  }

  void LiftDeadline() {
    ++deadline_id_;
    deadline_.cancel();
  }

  State& server_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  asio::steady_timer has_bytes_;  // never expires; cancelled to wake SendAnswer
  int deadline_id_ = 0;           // tells a deadline that was lifted as it passed
  beast::flat_buffer buffer_;
  error_code ignored_;
  bool has_timed_out_ = false;
  bool is_busy_ = false;
};

void HttpServer::State::Listen() {
  try {
    tcp::resolver resolver(io);
    const auto endpoints =
        resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive);
    const tcp::endpoint endpoint = *endpoints.begin();
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    port = acceptor.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    const bool is_taken = error.code() == asio::error::address_in_use;
    ThrowError(is_taken || error.code() == asio::error::access_denied ? ErrorCode::kIo
                                                                      : ErrorCode::kInvalidArgument,
               "Can't listen on {} port {}: {}{}",
               options.host,
               options.port,
               error.code().message(),
               is_taken ? "; another program has it, choose one with --port." : ".");
  }
}

asio::awaitable<void> HttpServer::State::Accept() {
  asio::steady_timer retry_timer(io);
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (!error) {
      Admit(std::move(socket));
    } else if (acceptor.is_open()) {
      retry_timer.expires_after(kAcceptRetryInterval);  // out of file descriptors, most likely
      co_await retry_timer.async_wait(kAwait);
    }
  }
}

void HttpServer::State::Admit(tcp::socket socket) {
  if (connections.size() >= static_cast<size_t>(options.max_connections)) {
    HttpResponse response =
        ErrorResponse(MakeErrorReply(503, "Too many connections.", "too_many_connections"));
    const std::string text =
        SerializeHead(
            response, BodyFraming::kContentLength, response.body.size(), /*keep_alive=*/false) +
        response.body;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);  // it fits into an empty send buffer
    return;
  }
  auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connections.insert(connection.get());
  asio::co_spawn(io, connection->Run(), [this, connection](const std::exception_ptr& /*error*/) {
    connections.erase(connection.get());
    StopIfIdle();
  });
}

void HttpServer::State::WatchSignals() {
  signals.add(SIGINT);
  signals.add(SIGTERM);
  signals.async_wait([this](error_code error, int /*signal_number*/) {
    if (error) {
      return;
    }
    BeginDrain();
    signals.async_wait([](error_code second_error, int signal_number) {
      if (!second_error) {
        std::_Exit(128 + signal_number);
      }
    });
  });
}

void HttpServer::State::BeginDrain() {
  if (std::exchange(is_draining, true)) {
    return;
  }
  service.BeginDrain();
  error_code ignored;
  acceptor.close(ignored);
  for (Connection* connection : connections) {
    if (!connection->is_busy()) {
      connection->Close();
    }
  }
  drain_timer.expires_after(options.drain_timeout);
  drain_timer.async_wait([this](error_code error) {
    if (!error) {
      io.stop();
    }
  });
  StopIfIdle();
}

void HttpServer::State::StopIfIdle() {
  if (!is_draining) {
    return;
  }
  for (const Connection* connection : connections) {
    if (connection->is_busy()) {
      return;
    }
  }
  io.stop();
}

// Cancels the answers that the drain did not wait for.
void HttpServer::State::DropExchanges() {
  const auto dropped = std::exchange(exchanges, {});
  for (const std::shared_ptr<AnswerBuffer>& exchange : dropped) {
    exchange->MarkGone();
  }
}

HttpServer::HttpServer(ServerOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const {
  return state_->port;
}

std::string HttpServer::url() const {
  const bool is_ipv6 = state_->options.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_ipv6 ? "http://[{}]:{}" : "http://{}:{}"),
                     state_->options.host,
                     state_->port);
}

void HttpServer::SetGenerator(TextGenerator* generator) {
  state_->service.SetGenerator(generator);
}

int HttpServer::Run() {
  state_->WatchSignals();
  asio::co_spawn(state_->io, state_->Accept(), asio::detached);
  state_->io.run();
  state_->service.StopWorkers();
  state_->DropExchanges();
  state_->loop->Close();
  return 0;
}

void HttpServer::Stop() {
  asio::post(state_->io, [state = state_.get()] { state->BeginDrain(); });
}

}  // namespace whinchat
