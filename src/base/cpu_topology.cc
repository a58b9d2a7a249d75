// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_topology.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "base/cgroup.h"

namespace whinchat {
namespace {

constexpr int kMaxCpu = 1 << 16;
constexpr double kMinBigCoreShare = 0.6;

std::optional<int> ParseInt(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > kMaxCpu) {
    return std::nullopt;
  }
  return number;
}

std::string ReadLine(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The lowest processor of the core that `cpu` is a thread of: one name for the core.
int FirstSibling(const std::filesystem::path& cpu_folder, int cpu) {
  for (const char* file : {"topology/core_cpus_list", "topology/thread_siblings_list"}) {
    const std::vector<int> siblings = ParseCpuList(ReadLine(cpu_folder / file));
    if (!siblings.empty()) {
      return siblings.front();
    }
  }
  return cpu;
}

int64_t Speed(const std::filesystem::path& cpu_folder) {
  return ReadNumber(cpu_folder / "cpu_capacity")
      .value_or(ReadNumber(cpu_folder / "cpufreq/cpuinfo_max_freq").value_or(0));
}

// The least quota of the control groups, in processors.
std::optional<double> ReadCpuQuota(const std::filesystem::path& root) {
  const CgroupFolders cgroup = FindCgroupFolders(root, "cpu");
  std::optional<double> least;
  for (const std::filesystem::path& folder : cgroup.folders) {
    std::optional<int64_t> quota;
    std::optional<int64_t> period;
    if (cgroup.is_v2) {  // "150000 100000", or "max 100000"
      std::ifstream stream(folder / "cpu.max");
      std::string quota_word;
      int64_t period_number = 0;
      if (stream >> quota_word >> period_number && quota_word != "max") {
        quota = ReadNumber(folder / "cpu.max");
        period = period_number;
      }
    } else {
      quota = ReadNumber(folder / "cpu.cfs_quota_us");
      period = ReadNumber(folder / "cpu.cfs_period_us");
    }
    if (quota && period && *quota > 0 && *period > 0) {
      const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
      least = std::min(least.value_or(cpus), cpus);
    }
  }
  return least;
}

}  // namespace

std::vector<int> ParseCpuList(std::string_view list) {
  std::vector<int> cpus;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view range = list.substr(0, comma);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    const size_t dash = range.find('-');
    const std::optional<int> first = ParseInt(range.substr(0, dash));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : ParseInt(range.substr(dash + 1));
    if (first && last) {
      for (int cpu = *first; cpu <= *last; ++cpu) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) {
        cpus.push_back(cpu);
      }
    }
    return cpus;
  }
  // More processors than the mask has bits: take them all.
  const int num_cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (int cpu = 0; cpu < num_cpus; ++cpu) {
    cpus.push_back(cpu);
  }
  return cpus;
}

CpuTopology ReadCpuTopology(std::span<const int> allowed_cpus, const std::filesystem::path& root) {
  CpuTopology topology;
  topology.num_allowed_cpus = static_cast<int>(allowed_cpus.size());
  topology.cpu_quota = ReadCpuQuota(root);
  std::map<int, int> core_cpus;  // a core's first sibling -> its lowest allowed processor
  for (const int cpu : allowed_cpus) {
    const auto folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
    const auto [entry, is_new] = core_cpus.emplace(FirstSibling(folder, cpu), cpu);
    if (!is_new) {
      entry->second = std::min(entry->second, cpu);
    }
  }
  topology.num_cores = static_cast<int>(core_cpus.size());
  std::map<int, int64_t> speeds;  // processor -> speed
  int64_t greatest_speed = 0;
  for (const auto& [core, cpu] : core_cpus) {
    const auto folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
    speeds[cpu] = Speed(folder);
    greatest_speed = std::max(greatest_speed, speeds[cpu]);
  }
  // Intel's hybrid processors name their big cores; clocks alone don't tell them.
  const std::vector<int> named_big = ParseCpuList(ReadLine(root / "sys/devices/cpu_core/cpus"));
  for (const auto& [cpu, speed] : speeds) {
    const bool is_named = std::find(named_big.begin(), named_big.end(), cpu) != named_big.end();
    const bool is_fast =
        static_cast<double>(speed) >= kMinBigCoreShare * static_cast<double>(greatest_speed);
    if (named_big.empty() ? is_fast : is_named) {
      topology.fast_cpus.push_back(cpu);
    }
  }
  return topology;
}

int DefaultNumThreads(const CpuTopology& topology) {
  // None: the affinity mask holds small cores only.
  int num_threads =
      topology.fast_cpus.empty() ? topology.num_cores : static_cast<int>(topology.fast_cpus.size());
  if (topology.cpu_quota) {
    num_threads = std::min(num_threads, static_cast<int>(*topology.cpu_quota));
  }
  return std::max(1, num_threads);
}

}  // namespace whinchat
