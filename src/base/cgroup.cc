// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <charconv>
#include <fstream>
#include <string>

namespace whinchat {
namespace {

// One line of /proc/self/cgroup: "4:cpu,cpuacct:/path" (version 1) or "0::/path" (version 2).
struct CgroupLine {
  std::string controllers;
  std::string path;
};

std::optional<CgroupLine> ParseLine(const std::string& line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) {
    return std::nullopt;
  }
  return CgroupLine{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool HasController(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) {
      return true;
    }
    controllers = comma == std::string_view::npos ? "" : controllers.substr(comma + 1);
  }
  return false;
}

// The folders from `mount`/`path` up to `mount`. In a container the path may be the host's and lead
// nowhere; what is mounted is then the container's own group.
std::vector<std::filesystem::path> FoldersUpTo(const std::filesystem::path& mount,
                                               std::string_view path) {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path relative = std::filesystem::path(path).relative_path();
  std::error_code error;
  while (!relative.empty()) {
    if (std::filesystem::is_directory(mount / relative, error)) {
      folders.push_back(mount / relative);
    }
    relative = relative.parent_path();
  }
  if (std::filesystem::is_directory(mount, error)) {
    folders.push_back(mount);
  }
  return folders;
}

}  // namespace

CgroupFolders FindCgroupFolders(const std::filesystem::path& root, std::string_view controller) {
  const std::filesystem::path mounts = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<std::string> v2_path;
  std::string text;
  while (std::getline(file, text)) {
    const std::optional<CgroupLine> line = ParseLine(text);
    if (!line) {
      continue;
    }
    if (line->controllers.empty()) {
      v2_path = line->path;
    } else if (HasController(line->controllers, controller)) {
      // Mounted under the controllers' names together, or linked under each.
      for (const std::string& name : {line->controllers, std::string(controller)}) {
        std::vector<std::filesystem::path> folders = FoldersUpTo(mounts / name, line->path);
        if (!folders.empty()) {
          return {.is_v2 = false, .folders = std::move(folders)};
        }
      }
    }
  }
  return {.is_v2 = true, .folders = FoldersUpTo(mounts, v2_path.value_or("/"))};
}

std::optional<int64_t> ReadNumber(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  if (!(stream >> word)) {
    return std::nullopt;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace whinchat
