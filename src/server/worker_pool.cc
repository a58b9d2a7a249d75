// SPDX-License-Identifier: Apache-2.0
#include "server/worker_pool.h"

#include <utility>

namespace whinchat {

WorkerPool::WorkerPool(int num_threads) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { RunWorker(); });
  }
}

WorkerPool::~WorkerPool() {
  Stop();
}

void WorkerPool::Post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      return;
    }
    tasks_.push_back(std::move(task));
  }
  has_task_.notify_one();
}

void WorkerPool::Stop() {
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    dropped.swap(tasks_);
  }
  has_task_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void WorkerPool::RunWorker() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      has_task_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
      if (is_stopping_) {
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace whinchat
