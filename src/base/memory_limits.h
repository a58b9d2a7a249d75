// SPDX-License-Identifier: Apache-2.0
// How much memory this process may count on: what the system has free, and what its control groups
// allow.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace whinchat {

struct MemoryLimits {
  size_t total_bytes = 0;                    // of the machine
  size_t available_bytes = 0;                // free, or free at once (page cache)
  std::optional<size_t> cgroup_limit_bytes;  // the least of the groups'; nothing: unlimited
};

// `root` is "/" but in tests.
MemoryLimits ReadMemoryLimits(const std::filesystem::path& root = "/");

// The budget where none is given: half of what is free, or of the control group's limit if that is
// less.
size_t DefaultMemoryBudget(const MemoryLimits& limits);

}  // namespace whinchat
