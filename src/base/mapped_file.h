// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only. Pages come from the page cache, so processes share them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace whinchat {

class MappedFile {
 public:
  MappedFile() = default;
  // Maps the whole file. Throws Error{kNotFound, kIo} naming the path and the system's reason.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Valid as long as this object lives.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Asks the system to read the pages ahead; returns at once.
  void WillNeed(size_t offset, size_t size) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace whinchat
