// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"

namespace whinchat {
namespace {

// About 100-200 us of spinning before a futex sleep: longer than any gap inside a forward pass,
// short enough that an idle program uses no CPU.
constexpr int kSpinsBeforeSleep = 4000;

inline void RelaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Waits until `word` differs from `seen`.
void WaitForChange(const std::atomic<uint32_t>& word, uint32_t seen) {
  for (int spin = 0; spin < kSpinsBeforeSleep; ++spin) {
    if (word.load(std::memory_order_acquire) != seen) {
      return;
    }
    RelaxCpu();
  }
  while (word.load(std::memory_order_acquire) == seen) {
    word.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace

void Worker::Barrier() {
  pool_->WaitAtBarrier();
}

WorkRange Worker::Split(int num_items, int granularity) const {
  const int64_t num_units = (num_items + granularity - 1) / granularity;
  const auto bound = [&](int idx) {
    const int64_t unit = num_units * idx / num_threads_;
    return static_cast<int>(std::min<int64_t>(unit * granularity, num_items));
  };
  return {bound(thread_idx_), bound(thread_idx_ + 1)};
}

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {
  WHINCHAT_CHECK(num_threads >= 1);
  for (int i = 1; i < num_threads; ++i) {
    threads_.emplace_back([this, i] { RunWorker(i); });
  }
}

ThreadPool::~ThreadPool() {
  is_stopping_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  epoch_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::Run(const std::function<void(Worker&)>& task) {
  task_ = &task;
  num_running_.store(num_threads_ - 1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  epoch_.notify_all();
  Worker worker(this, /*thread_idx=*/0, num_threads_);
  task(worker);
  int spins = 0;
  while (num_running_.load(std::memory_order_acquire) > 0) {
    RelaxCpu();
    if (++spins > kSpinsBeforeSleep) {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::RunWorker(int thread_idx) {
  uint32_t seen = 0;
  while (true) {
    WaitForChange(epoch_, seen);
    ++seen;
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    Worker worker(this, thread_idx, num_threads_);
    (*task_)(worker);
    num_running_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

void ThreadPool::WaitAtBarrier() {
  if (num_threads_ == 1) {
    return;
  }
  const uint32_t phase = barrier_phase_.load(std::memory_order_acquire);
  if (num_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_threads_) {
    num_arrived_.store(0, std::memory_order_relaxed);
    barrier_phase_.store(phase + 1, std::memory_order_release);
    barrier_phase_.notify_all();
    return;
  }
  WaitForChange(barrier_phase_, phase);
}

}  // namespace whinchat
