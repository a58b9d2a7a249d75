// SPDX-License-Identifier: Apache-2.0
#include "base/memory_limits.h"

#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace whinchat {
namespace {

constexpr size_t kMib = size_t{1} << 20;

class MemoryLimitsTest : public testing::Test {
 protected:
  MemoryLimitsTest() {
    root_.Write("proc/meminfo",
                "MemTotal:        4096000 kB\nMemFree:          100000 kB\n"
                "MemAvailable:    2048000 kB\n");
  }

  FakeRoot root_{std::filesystem::path(testing::TempDir()) / "memory_limits_test"};
};

TEST_F(MemoryLimitsTest, ReadsWhatTheMachineHas) {
  const MemoryLimits limits = ReadMemoryLimits(root_.path());
  EXPECT_EQ(limits.total_bytes, size_t{4096000} * 1024);
  EXPECT_EQ(limits.available_bytes, size_t{2048000} * 1024);
  EXPECT_FALSE(limits.cgroup_limit_bytes);
  EXPECT_EQ(DefaultMemoryBudget(limits), size_t{1024000} * 1024);
}

TEST_F(MemoryLimitsTest, AKernelWithoutMemAvailableCountsFreeMemory) {
  root_.Write("proc/meminfo", "MemTotal: 4096000 kB\nMemFree: 100000 kB\n");
  EXPECT_EQ(ReadMemoryLimits(root_.path()).available_bytes, size_t{100000} * 1024);
}

TEST_F(MemoryLimitsTest, TheLeastLimitOfAVersion2GroupAndItsParentsHolds) {
  root_.Write("proc/self/cgroup", "0::/user.slice/app.service\n");
  root_.Write("sys/fs/cgroup/user.slice/app.service/memory.max", "max\n");
  root_.Write("sys/fs/cgroup/user.slice/memory.max", "536870912\n");
  const MemoryLimits limits = ReadMemoryLimits(root_.path());
  EXPECT_EQ(limits.cgroup_limit_bytes, 512 * kMib);
  EXPECT_EQ(DefaultMemoryBudget(limits), 256 * kMib);
}

TEST_F(MemoryLimitsTest, AContainerSeesItsOwnGroupAsTheRoot) {
  root_.Write("proc/self/cgroup", "0::/docker/0123/not/visible\n");
  root_.Write("sys/fs/cgroup/memory.max", "268435456\n");
  EXPECT_EQ(ReadMemoryLimits(root_.path()).cgroup_limit_bytes, 256 * kMib);
}

TEST_F(MemoryLimitsTest, ReadsVersion1) {
  root_.Write("proc/self/cgroup", "9:memory:/docker/0123\n1:name=systemd:/x\n0::/\n");
  root_.Write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(ReadMemoryLimits(root_.path()).cgroup_limit_bytes, 1024 * kMib);
}

TEST_F(MemoryLimitsTest, TheGreatNumberOfVersion1MeansUnlimited) {
  root_.Write("proc/self/cgroup", "9:memory:/\n");
  root_.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(ReadMemoryLimits(root_.path()).cgroup_limit_bytes);
}

TEST_F(MemoryLimitsTest, ALimitAboveWhatIsFreeDoesNotRaiseTheBudget) {
  MemoryLimits limits = ReadMemoryLimits(root_.path());
  limits.cgroup_limit_bytes = 64 * limits.available_bytes;
  EXPECT_EQ(DefaultMemoryBudget(limits), limits.available_bytes / 2);
}

TEST(MemoryLimits, ThisMachineHasMemory) {
  const MemoryLimits limits = ReadMemoryLimits();
  EXPECT_GT(limits.available_bytes, 16 * kMib);
  EXPECT_GE(limits.total_bytes, limits.available_bytes);
}

}  // namespace
}  // namespace whinchat
