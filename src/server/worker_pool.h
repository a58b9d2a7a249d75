// SPDX-License-Identifier: Apache-2.0
// A few threads for what would hold the event loop up: parsing, templates, tokenizing. Not
// base/thread_pool, whose threads all run one function together.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace whinchat {

class WorkerPool {
 public:
  using Task = std::function<void()>;

  explicit WorkerPool(int num_threads);
  // As Stop.
  ~WorkerPool();

  // Tasks start in order and must not throw. Dropped after Stop.
  void Post(Task task);
  // Drops the tasks that have not begun; waits for the others.
  void Stop();

 private:
  void RunWorker();

  std::mutex mutex_;
  std::condition_variable has_task_;
  std::deque<Task> tasks_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace whinchat
