// SPDX-License-Identifier: Apache-2.0
// Where the control groups that hold this process keep their limits, for versions 1 and 2 and for
// containers that see only a part of the tree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace whinchat {

struct CgroupFolders {
  bool is_v2 = false;
  // This process's group first, then its parents up to the mount point: a limit of any of them
  // holds. Only folders that exist.
  std::vector<std::filesystem::path> folders;
};

// `controller`: "cpu" or "memory". `root` is "/" but in tests.
CgroupFolders FindCgroupFolders(const std::filesystem::path& root, std::string_view controller);

// The first word of a file as a number; nothing if there is no such file or it says otherwise
// ("max").
std::optional<int64_t> ReadNumber(const std::filesystem::path& file);

}  // namespace whinchat
