// SPDX-License-Identifier: Apache-2.0
#include "server/task_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "server/worker_pool.h"

namespace whinchat {
namespace {

TEST(TaskQueue, RunsInOrderAndWakesOnceForManyTasks) {
  int num_wakes = 0;
  TaskQueue queue([&] { ++num_wakes; });
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) {
    queue.Post([&ran, i] { ran.push_back(i); });
  }
  EXPECT_EQ(num_wakes, 1);
  queue.RunPosted();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
  queue.Post([] {});
  EXPECT_EQ(num_wakes, 2);
}

TEST(TaskQueue, ATaskMayPostAnother) {
  TaskQueue queue([] {});
  bool has_run = false;
  queue.Post([&] { queue.Post([&] { has_run = true; }); });
  queue.RunPosted();
  EXPECT_FALSE(has_run);
  queue.RunPosted();
  EXPECT_TRUE(has_run);
}

TEST(TaskQueue, ClosingFreesWhatWaitsAndWhatComesLater) {
  TaskQueue queue([] {});
  auto owned = std::make_shared<int>(1);
  queue.Post([owned] { ADD_FAILURE() << "ran after Close"; });
  queue.Close();
  EXPECT_EQ(owned.use_count(), 1);
  queue.Post([owned] { ADD_FAILURE() << "ran after Close"; });
  EXPECT_EQ(owned.use_count(), 1);
  queue.RunPosted();
}

TEST(TaskQueue, TakesTasksFromManyThreads) {
  TaskQueue queue([] {});
  int sum = 0;  // only tasks touch it, on this thread
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        queue.Post([&sum] { ++sum; });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  queue.RunPosted();
  EXPECT_EQ(sum, 4000);
}

TEST(WorkerPool, StopDropsWhatHasNotBegunAndWaitsForTheRest) {
  WorkerPool pool(1);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};
  auto owned = std::make_shared<int>(1);
  pool.Post([&] {
    has_begun = true;
    while (!may_end) {
      std::this_thread::yield();
    }
    has_ended = true;
  });
  while (!has_begun) {
    std::this_thread::yield();
  }
  pool.Post([owned] { ADD_FAILURE() << "ran after Stop"; });
  std::thread release([&] { may_end = true; });
  pool.Stop();
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(owned.use_count(), 1);
  pool.Post([owned] { ADD_FAILURE() << "ran after Stop"; });
  release.join();
}

}  // namespace
}  // namespace whinchat
