// SPDX-License-Identifier: Apache-2.0
// A folder tree that stands for "/": tests write the /proc and /sys files they need into it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace whinchat {

class FakeRoot {
 public:
  // Starts empty; removed at the end.
  explicit FakeRoot(const std::filesystem::path& path) : path_(path) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~FakeRoot() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void Write(std::string_view file, std::string_view text) {
    const std::filesystem::path target = path_ / file;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target) << text;
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace whinchat
