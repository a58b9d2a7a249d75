// SPDX-License-Identifier: Apache-2.0
// Which processors this process may use, which of them share a core, which are the fast ones, and
// how much of their time its control groups allow.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace whinchat {

struct CpuTopology {
  int num_allowed_cpus = 0;         // logical processors in the affinity mask (cpusets included)
  int num_cores = 0;                // physical cores among them
  std::vector<int> fast_cpus;       // one logical processor of each big core, ascending
  std::optional<double> cpu_quota;  // processors' worth of time; nothing: all of it
};

// The numbers in "0-3,8,10-11", as the kernel writes sets of processors; what makes no sense is
// skipped.
std::vector<int> ParseCpuList(std::string_view list);

// The processors in this thread's affinity mask, ascending.
std::vector<int> AllowedCpus();

// `root` is "/" but in tests. Big cores are those with at least 60 % of the greatest capacity (or
// clock, where the kernel tells no capacity): on three-cluster phones the middle cluster counts.
CpuTopology ReadCpuTopology(std::span<const int> allowed_cpus,
                            const std::filesystem::path& root = "/");

// One thread for each big core, within the quota, at least one. More only wait for the slowest: a
// second thread of a core shares its units, a small core holds up each barrier.
int DefaultNumThreads(const CpuTopology& topology);

}  // namespace whinchat
