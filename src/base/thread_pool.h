// SPDX-License-Identifier: Apache-2.0
// A pool whose threads all run the same function together (SPMD), with a barrier inside it.
// One Run() covers a whole forward pass, so a step costs one wake-up and a few spins, not a
// fork and join for each operation. Threads spin briefly after work, then sleep on a futex.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace whinchat {

class ThreadPool;

// The half-open range [begin, end) of items one thread does.
struct WorkRange {
  int begin = 0;
  int end = 0;
};

// What one thread of a Run() knows. Passed by reference; valid during the Run only.
class Worker {
 public:
  Worker(ThreadPool* pool, int thread_idx, int num_threads)
      : pool_(pool), thread_idx_(thread_idx), num_threads_(num_threads) {}

  int thread_idx() const { return thread_idx_; }
  int num_threads() const { return num_threads_; }

  // Returns after every thread of this Run has called it. Every thread must call it equally often.
  void Barrier();

  // This thread's contiguous share of `num_items`, in whole multiples of `granularity`.
  WorkRange Split(int num_items, int granularity = 1) const;

 private:
  ThreadPool* pool_;
  int thread_idx_;
  int num_threads_;
};

class ThreadPool {
 public:
  // `num_threads` counts the caller of Run(), which works as thread 0.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Runs `task` once on every thread and returns when all are done. `task` must not throw.
  // One caller at a time.
  void Run(const std::function<void(Worker&)>& task);

 private:
  friend class Worker;

  void RunWorker(int thread_idx);
  void WaitAtBarrier();

  const int num_threads_;
  const std::function<void(Worker&)>* task_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};     // one more for each Run; workers wait on it
  alignas(64) std::atomic<uint32_t> num_done_{0};  // workers that have finished this Run
  alignas(64) std::atomic<int> num_arrived_{0};    // at the barrier
  alignas(64) std::atomic<uint32_t> barrier_phase_{0};
  std::atomic<bool> is_stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace whinchat
