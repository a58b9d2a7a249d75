// SPDX-License-Identifier: Apache-2.0
// The event loop of a test: runs posted tasks on the test's own thread until something holds.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "server/task_queue.h"

namespace whinchat {

class TestLoop {
 public:
  TestLoop() : queue_(std::make_shared<TaskQueue>([] {})) {}
  ~TestLoop() { queue_->Close(); }

  std::shared_ptr<TaskQueue> queue() const { return queue_; }

  // False if it does not hold after `timeout`.
  bool RunUntil(const std::function<bool()>& holds,
                std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      queue_->RunPosted();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
  }

 private:
  std::shared_ptr<TaskQueue> queue_;
};

}  // namespace whinchat
