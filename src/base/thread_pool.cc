// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace whinchat {
namespace {

// How long a thread spins before it sleeps on a futex. Between two Runs: the engine samples and
// schedules meanwhile, and a wake-up costs about 50 us. At a barrier: waits are a few us, unless
// another program has taken the core of a thread we wait for; sleeping early then leaves it ours.
// With one of two cores taken, 30 us decode SmolLM2 at 92-97 tokens/s, 200 us at 74-85 (December
// 2026, Xeon, AVX512 VNNI); on idle cores both do 485-490.
constexpr std::chrono::microseconds kSpinBetweenRuns(200);
constexpr std::chrono::microseconds kSpinAtBarrier(30);
constexpr int kSpinsBetweenClockReads = 64;

inline void RelaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Waits until `word` differs from `seen`.
void WaitForChange(const std::atomic<uint32_t>& word,
                   uint32_t seen,
                   std::chrono::microseconds spin_time) {
  const auto deadline = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int spin = 0; spin < kSpinsBetweenClockReads; ++spin) {
      if (word.load(std::memory_order_acquire) != seen) {
        return;
      }
      RelaxCpu();
    }
  } while (std::chrono::steady_clock::now() < deadline);
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
  num_done_.store(0, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  epoch_.notify_all();
  Worker worker(this, /*thread_idx=*/0, num_threads_);
  task(worker);
  const auto num_workers = static_cast<uint32_t>(num_threads_ - 1);
  for (uint32_t done = num_done_.load(std::memory_order_acquire); done != num_workers;
       done = num_done_.load(std::memory_order_acquire)) {
    WaitForChange(num_done_, done, kSpinAtBarrier);
  }
}

void ThreadPool::RunWorker(int thread_idx) {
  uint32_t seen = 0;
  while (true) {
    WaitForChange(epoch_, seen, kSpinBetweenRuns);
    ++seen;
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    Worker worker(this, thread_idx, num_threads_);
    (*task_)(worker);
    num_done_.fetch_add(1, std::memory_order_acq_rel);
    num_done_.notify_one();
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
  WaitForChange(barrier_phase_, phase, kSpinAtBarrier);
}

}  // namespace whinchat
