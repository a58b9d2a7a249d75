// SPDX-License-Identifier: Apache-2.0
// The exchange of a real connection: what routes write becomes bytes of HTTP that wait here until
// the connection's writer takes them. No socket in it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "server/exchange.h"

namespace whinchat {

// How an answer must look on its connection.
struct AnswerForm {
  bool is_http_11 = true;
  bool keep_alive = true;
  bool is_head = false;  // the request was a HEAD: no body
  std::vector<HttpHeader> common_headers;
};

class AnswerBuffer final : public Exchange {
 public:
  // `on_status` hears the status of the answer.
  AnswerBuffer(HttpRequest request, AnswerForm form, std::function<void(int status)> on_status);

  const HttpRequest& request() const override { return request_; }
  std::chrono::steady_clock::time_point received_at() const override { return received_at_; }
  void Respond(HttpResponse response) override;
  void BeginStream(HttpResponse head) override;
  void Write(std::string bytes) override;
  void EndStream() override;
  size_t num_unsent_bytes() const override { return unsent_.size() + num_in_flight_bytes_; }
  void SetObserver(std::function<void()> observer) override { observer_ = std::move(observer); }
  bool is_gone() const override { return is_gone_; }

  // The writer's side, on the same thread.

  // Called whenever there is more to take.
  void SetWriterWake(std::function<void()> wake) { wake_writer_ = std::move(wake); }
  bool has_unsent() const { return !unsent_.empty(); }
  // Nothing will follow what is unsent.
  bool is_complete() const { return is_complete_; }
  bool keep_alive() const { return form_.keep_alive; }
  std::string TakeUnsent();
  // So many of the bytes taken have reached the kernel.
  void MarkSent(size_t num_bytes);
  void MarkGone();

 private:
  void Begin(HttpResponse& response, BodyFraming framing);
  void WakeWriter();
  void NotifyObserver();

  const HttpRequest request_;
  const std::chrono::steady_clock::time_point received_at_ = std::chrono::steady_clock::now();
  AnswerForm form_;
  std::function<void(int status)> on_status_;
  std::function<void()> observer_;
  std::function<void()> wake_writer_;
  std::string unsent_;
  size_t num_in_flight_bytes_ = 0;  // taken, not sent
  bool is_begun_ = false;
  bool is_chunked_ = false;
  bool is_complete_ = false;
  std::atomic<bool> is_gone_{false};
};

}  // namespace whinchat
