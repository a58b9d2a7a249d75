// SPDX-License-Identifier: Apache-2.0
#include "server/task_queue.h"

#include <utility>

namespace whinchat {

void TaskQueue::Post(Task task) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    return;
  }
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    wake_();
  }
}

void TaskQueue::RunPosted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) {
    task();
  }
}

void TaskQueue::Close() {
  std::vector<Task> dropped;  // destroyed outside the lock: a task may own what posts again
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  dropped.swap(tasks_);
}

}  // namespace whinchat
