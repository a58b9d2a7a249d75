// SPDX-License-Identifier: Apache-2.0
// The HTTP server: OpenAI's API over one TextGenerator. One thread does all sockets (the caller of
// Run), a few do JSON, templates and tokens; the model's thread is the engine's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text_generator.h"

namespace whinchat {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;       // 0: any free one; see HttpServer::port
  std::string version = "0";  // of the program, for /version

  std::vector<std::string> served_model_names;  // --served-model-name; the first is in answers
  std::vector<std::string> model_aliases;       // hub id, short names
  nlohmann::ordered_json default_chat_template_kwargs = nlohmann::ordered_json::object();
  int default_max_tokens = 1024;  // of the answer, where a request gives no limit
  int reasoning_budget = 512;     // added to it when thinking is on

  std::vector<std::string> api_keys;         // none: open to whoever reaches the port
  std::vector<std::string> allowed_origins;  // beside localhost; "*" is any

  int num_worker_threads = 2;  // JSON, templates, tokenizing
  int max_connections = 1024;
  size_t max_body_bytes = size_t{8} << 20;
  uint32_t max_header_bytes = 16 << 10;
  std::chrono::milliseconds header_timeout{15'000};  // for the whole head of a request
  std::chrono::milliseconds body_timeout{60'000};    // for the whole body
  std::chrono::milliseconds idle_timeout{75'000};    // between requests of one connection
  std::chrono::milliseconds write_timeout{30'000};   // for a reader to take any byte at all
  std::chrono::milliseconds drain_timeout{30'000};   // for running answers after SIGTERM
  std::chrono::milliseconds stuck_timeout{120'000};  // work, but no step for so long: unhealthy

  // Warnings worth a line (an unknown field, an engine fault). Called from any thread; may be
  // empty.
  std::function<void(std::string_view line)> log;
};

class HttpServer {
 public:
  // Binds the port. Throws Error{kIo} when it is taken, Error{kInvalidArgument} for a bad host.
  explicit HttpServer(ServerOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  // "http://127.0.0.1:8000"
  std::string url() const;

  // Until this is called, all but /health and its like is answered with 503. Any thread, once.
  // The generator must outlive the server.
  void SetGenerator(TextGenerator* generator);

  // Serves until SIGTERM, SIGINT or Stop(). Then: no new connections, running answers may finish
  // within drain_timeout, what is left is cancelled. A second signal ends the process at once.
  // Returns 0, the exit status.
  int Run();
  // The same as SIGTERM. Any thread, also before Run.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat
