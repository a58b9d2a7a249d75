// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace whinchat {
namespace {

TEST(ThreadPool, EveryThreadRunsEachTaskOnce) {
  for (int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    for (int run = 0; run < 50; ++run) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(num_threads));
      pool.Run([&](Worker& worker) { ++calls[static_cast<size_t>(worker.thread_idx())]; });
      for (const auto& count : calls) {
        EXPECT_EQ(count.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, BarrierSeparatesPhases) {
  ThreadPool pool(4);
  constexpr int kNumPhases = 200;
  std::vector<std::atomic<int>> arrived(kNumPhases);
  std::atomic<int> num_early{0};
  pool.Run([&](Worker& worker) {
    for (size_t phase = 0; phase < kNumPhases; ++phase) {
      ++arrived[phase];
      worker.Barrier();
      if (arrived[phase].load() != 4) {
        ++num_early;
      }
    }
  });
  EXPECT_EQ(num_early.load(), 0);
}

TEST(Worker, SplitCoversAllItemsInOrderWithoutOverlap) {
  for (int num_threads : {1, 2, 3, 7}) {
    for (int num_items : {0, 1, 5, 16, 100}) {
      for (int granularity : {1, 4, 16}) {
        int next = 0;
        for (int i = 0; i < num_threads; ++i) {
          const WorkRange range = Worker(nullptr, i, num_threads).Split(num_items, granularity);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(range.begin % granularity == 0 || range.begin == num_items);
          next = range.end;
        }
        EXPECT_EQ(next, num_items);
      }
    }
  }
}

}  // namespace
}  // namespace whinchat
