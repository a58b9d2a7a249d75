// SPDX-License-Identifier: Apache-2.0
#include "base/memory_limits.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "base/cgroup.h"

namespace whinchat {
namespace {

// Version 1 writes "unlimited" as the greatest page-aligned number.
constexpr int64_t kUnlimited = int64_t{1} << 60;

// Sizes in /proc/meminfo are in KiB.
void ReadMeminfo(const std::filesystem::path& file, MemoryLimits* limits) {
  std::ifstream stream(file);
  std::string line;
  size_t free_kib = 0;
  while (std::getline(stream, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string name = line.substr(0, colon);
    const size_t kib = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    if (name == "MemTotal") {
      limits->total_bytes = kib * 1024;
    } else if (name == "MemAvailable") {
      limits->available_bytes = kib * 1024;
    } else if (name == "MemFree") {
      free_kib = kib;
    }
  }
  if (limits->available_bytes == 0) {  // kernels before 3.14
    limits->available_bytes = free_kib * 1024;
  }
}

}  // namespace

MemoryLimits ReadMemoryLimits(const std::filesystem::path& root) {
  MemoryLimits limits;
  ReadMeminfo(root / "proc/meminfo", &limits);
  const CgroupFolders cgroup = FindCgroupFolders(root, "memory");
  const char* file_name = cgroup.is_v2 ? "memory.max" : "memory.limit_in_bytes";
  for (const std::filesystem::path& folder : cgroup.folders) {
    const std::optional<int64_t> limit = ReadNumber(folder / file_name);
    if (limit && *limit > 0 && *limit < kUnlimited) {
      limits.cgroup_limit_bytes =
          std::min(limits.cgroup_limit_bytes.value_or(std::numeric_limits<size_t>::max()),
                   static_cast<size_t>(*limit));
    }
  }
  return limits;
}

size_t DefaultMemoryBudget(const MemoryLimits& limits) {
  return std::min(limits.available_bytes,
                  limits.cgroup_limit_bytes.value_or(limits.available_bytes)) /
         2;
}

}  // namespace whinchat
