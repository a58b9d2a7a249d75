// SPDX-License-Identifier: Apache-2.0
#include "server/answer_buffer.h"

#include <utility>

namespace whinchat {

AnswerBuffer::AnswerBuffer(HttpRequest request,
                           AnswerForm form,
                           std::function<void(int status)> on_status)
    : request_(std::move(request)), form_(std::move(form)), on_status_(std::move(on_status)) {}

void AnswerBuffer::Respond(HttpResponse response) {
  if (is_gone_ || is_begun_) {
    return;
  }
  Begin(response, BodyFraming::kContentLength);
  if (!form_.is_head) {
    unsent_ += response.body;
  }
  is_complete_ = true;
  WakeWriter();
}

void AnswerBuffer::BeginStream(HttpResponse head) {
  if (is_gone_ || is_begun_) {
    return;
  }
  is_chunked_ = form_.is_http_11;
  form_.keep_alive = form_.keep_alive && is_chunked_;
  Begin(head, is_chunked_ ? BodyFraming::kChunked : BodyFraming::kUntilClose);
  WakeWriter();
}

void AnswerBuffer::Write(std::string bytes) {
  if (is_gone_ || is_complete_) {
    return;
  }
  unsent_ += is_chunked_ ? FrameChunk(bytes) : bytes;
  WakeWriter();
}

void AnswerBuffer::EndStream() {
  if (is_gone_ || is_complete_) {
    return;
  }
  if (is_chunked_) {
    unsent_ += LastChunk();
  }
  is_complete_ = true;
  WakeWriter();
}

std::string AnswerBuffer::TakeUnsent() {
  num_in_flight_bytes_ += unsent_.size();
  return std::exchange(unsent_, {});
}

void AnswerBuffer::MarkSent(size_t num_bytes) {
  num_in_flight_bytes_ -= num_bytes;
  NotifyObserver();
}

void AnswerBuffer::MarkGone() {
  is_gone_ = true;
  NotifyObserver();
}

void AnswerBuffer::Begin(HttpResponse& response, BodyFraming framing) {
  is_begun_ = true;
  response.headers.insert(
      response.headers.end(), form_.common_headers.begin(), form_.common_headers.end());
  unsent_ += SerializeHead(response, framing, response.body.size(), form_.keep_alive);
  on_status_(response.status);
}

void AnswerBuffer::WakeWriter() {
  if (wake_writer_) {
    wake_writer_();
  }
}

void AnswerBuffer::NotifyObserver() {
  const std::function<void()> observer = observer_;  // it may replace itself
  if (observer) {
    observer();
  }
}

}  // namespace whinchat
