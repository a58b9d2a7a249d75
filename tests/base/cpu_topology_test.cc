// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/fake_root.h"

namespace whinchat {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CpuTopologyTest : public testing::Test {
 protected:
  void AddCpu(int cpu, const std::string& siblings) {
    root_.Write(CpuFile(cpu, "topology/core_cpus_list"), siblings + "\n");
  }
  void SetCapacity(int cpu, int capacity) {
    root_.Write(CpuFile(cpu, "cpu_capacity"), std::to_string(capacity) + "\n");
  }
  static std::string CpuFile(int cpu, const std::string& file) {
    return "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file;
  }
  CpuTopology Read(const std::vector<int>& allowed_cpus) {
    return ReadCpuTopology(allowed_cpus, root_.path());
  }

  FakeRoot root_{std::filesystem::path(testing::TempDir()) / "cpu_topology_test"};
};

TEST(ParseCpuList, ReadsRangesAndSkipsNonsense) {
  EXPECT_THAT(ParseCpuList("0-2,5,7-8"), ElementsAre(0, 1, 2, 5, 7, 8));
  EXPECT_THAT(ParseCpuList("3"), ElementsAre(3));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("x,1-,-2,4,99999999999,0-999999999"), ElementsAre(4));
}

TEST_F(CpuTopologyTest, CountsThreadsOfACoreOnce) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    AddCpu(cpu, std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  }
  const CpuTopology topology = Read({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(topology.num_allowed_cpus, 8);
  EXPECT_EQ(topology.num_cores, 4);
  EXPECT_THAT(topology.fast_cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(DefaultNumThreads(topology), 4);
}

TEST_F(CpuTopologyTest, HonoursTheAffinityMask) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    AddCpu(cpu, std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1));
  }
  const CpuTopology topology = Read({1, 6, 7});
  EXPECT_THAT(topology.fast_cpus, ElementsAre(1, 6));
  EXPECT_EQ(DefaultNumThreads(topology), 2);
}

TEST_F(CpuTopologyTest, UsesTheBigCoresOfAnOrangePi5) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    AddCpu(cpu, std::to_string(cpu));
    SetCapacity(cpu, cpu < 4 ? 414 : 1024);
  }
  EXPECT_THAT(Read({0, 1, 2, 3, 4, 5, 6, 7}).fast_cpus, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(DefaultNumThreads(Read({0, 1, 2})), 3);
}

TEST_F(CpuTopologyTest, UsesTheMiddleClusterOfAPhoneToo) {
  const int capacities[] = {250, 250, 250, 250, 800, 800, 800, 1024};
  for (int cpu = 0; cpu < 8; ++cpu) {
    SetCapacity(cpu, capacities[cpu]);
  }
  EXPECT_EQ(DefaultNumThreads(Read({0, 1, 2, 3, 4, 5, 6, 7})), 4);
}

TEST_F(CpuTopologyTest, UsesTheNamedBigCoresOfAHybridProcessor) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const bool is_big = cpu < 4;
    AddCpu(cpu,
           is_big ? std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1)
                  : std::to_string(cpu));
    root_.Write(CpuFile(cpu, "cpufreq/cpuinfo_max_freq"), is_big ? "4700000" : "3600000");
  }
  root_.Write("sys/devices/cpu_core/cpus", "0-3\n");
  EXPECT_THAT(Read({0, 1, 2, 3, 4, 5, 6, 7}).fast_cpus, ElementsAre(0, 2));
  // A mask of small cores only.
  EXPECT_EQ(DefaultNumThreads(Read({4, 5, 6})), 3);
}

TEST_F(CpuTopologyTest, AVersion2QuotaLimitsTheThreads) {
  root_.Write("proc/self/cgroup", "0::/box\n");
  root_.Write("sys/fs/cgroup/box/cpu.max", "250000 100000\n");
  root_.Write("sys/fs/cgroup/cpu.max", "max 100000\n");
  const CpuTopology topology = Read({0, 1, 2, 3});
  EXPECT_EQ(topology.cpu_quota, 2.5);
  EXPECT_EQ(DefaultNumThreads(topology), 2);
}

TEST_F(CpuTopologyTest, AVersion1QuotaLimitsTheThreads) {
  root_.Write("proc/self/cgroup", "3:cpu,cpuacct:/docker/1\n");
  root_.Write("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "50000\n");
  root_.Write("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  const CpuTopology topology = Read({0, 1, 2, 3});
  EXPECT_EQ(topology.cpu_quota, 0.5);
  EXPECT_EQ(DefaultNumThreads(topology), 1);
}

TEST_F(CpuTopologyTest, NoQuotaIsNoLimit) {
  root_.Write("proc/self/cgroup", "3:cpu:/\n");
  root_.Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root_.Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(Read({0, 1}).cpu_quota);
  root_.Write("proc/self/cgroup", "0::/\n");
  root_.Write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_FALSE(Read({0, 1}).cpu_quota);
}

TEST_F(CpuTopologyTest, AMachineThatTellsNothingUsesWhatIsAllowed) {
  EXPECT_EQ(DefaultNumThreads(Read({0, 1, 2})), 3);
  EXPECT_EQ(DefaultNumThreads(Read({})), 1);
}

TEST(CpuTopology, ThisMachineHasAtLeastOneProcessor) {
  EXPECT_GE(AllowedCpus().size(), 1U);
  EXPECT_GE(DefaultNumThreads(ReadCpuTopology(AllowedCpus())), 1);
}

}  // namespace
}  // namespace whinchat
