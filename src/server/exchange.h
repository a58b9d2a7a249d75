// SPDX-License-Identifier: Apache-2.0
// One request and the answer to it, between the routes and the connection. Unless said otherwise,
// methods are called on the event loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "server/http_message.h"

namespace whinchat {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Any thread; never changes.
  virtual const HttpRequest& request() const = 0;
  virtual std::chrono::steady_clock::time_point received_at() const = 0;

  // The whole answer. Exactly one of Respond and BeginStream, once. Nothing happens if the client
  // is gone.
  virtual void Respond(HttpResponse response) = 0;

  virtual void BeginStream(HttpResponse head) = 0;
  virtual void Write(std::string bytes) = 0;
  virtual void EndStream() = 0;
  // Handed to Write and not yet taken by the socket.
  virtual size_t num_unsent_bytes() const = 0;

  // Called when the client went away and each time unsent bytes went out. An empty function stops
  // the calls and frees what the last one held.
  virtual void SetObserver(std::function<void()> observer) = 0;

  // The client went away. Any thread.
  virtual bool is_gone() const = 0;
};

}  // namespace whinchat
