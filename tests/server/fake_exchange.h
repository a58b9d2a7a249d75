// SPDX-License-Identifier: Apache-2.0
// An exchange without a connection, whose client reads as slowly as the test wants.
#pragma once

#include <string>
#include <utility>

#include "server/exchange.h"

namespace whinchat {

class FakeExchange final : public Exchange {
 public:
  explicit FakeExchange(HttpRequest request = {}) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  std::chrono::steady_clock::time_point received_at() const override { return received_at_; }
  void Respond(HttpResponse given) override {
    response = std::move(given);
    is_complete = true;
  }
  void BeginStream(HttpResponse head) override {
    response = std::move(head);
    is_streaming = true;
  }
  void Write(std::string bytes) override {
    unsent += bytes;
    response.body += bytes;
  }
  void EndStream() override { is_complete = true; }
  size_t num_unsent_bytes() const override { return is_slow ? unsent.size() : 0; }
  void SetObserver(std::function<void()> observer) override { observer_ = std::move(observer); }
  bool is_gone() const override { return is_gone_; }

  void Leave() {
    is_gone_ = true;
    Notify();
  }
  void ReadAll() {
    unsent.clear();
    Notify();
  }
  bool is_observed() const { return static_cast<bool>(observer_); }

  HttpResponse response;
  std::string unsent;
  bool is_slow = false;
  bool is_streaming = false;
  bool is_complete = false;

 private:
  void Notify() {
    const auto observer = observer_;
    if (observer) {
      observer();
    }
  }

  const HttpRequest request_;
  const std::chrono::steady_clock::time_point received_at_ = std::chrono::steady_clock::now();
  std::function<void()> observer_;
  bool is_gone_ = false;
};

}  // namespace whinchat
