// SPDX-License-Identifier: Apache-2.0
// Work for the event loop's thread, from any other thread: the engine's wake-ups above all. It
// outlives the loop it feeds (shared_ptr), so a late wake-up falls into the void.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

namespace whinchat {

class TaskQueue {
 public:
  using Task = std::function<void()>;

  // `wake` makes the loop's thread call RunPosted soon. It must not block and may not call back.
  explicit TaskQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Any thread; never blocks for longer than it takes to append.
  void Post(Task task);
  // The loop's thread.
  void RunPosted();
  // Drops what waits, now and later.
  void Close();

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<Task> tasks_;
  bool is_closed_ = false;
};

}  // namespace whinchat
