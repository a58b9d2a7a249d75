// SPDX-License-Identifier: Apache-2.0
// A file that gets its name only when it is whole: written under a temporary name beside it, synced
// and renamed. Whatever happens before Commit (an exception, a full disk, a kill) leaves the name
// untouched. The temporary file is locked while it is written, so one left behind by a killed
// process can be told from one in use; the next writer of the same name removes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace whinchat {

class AtomicFile {
 public:
  // Creates the temporary file. The folder must exist.
  // Every function throws Error{kNotFound or kIo} naming the path and the system's reason.
  explicit AtomicFile(const std::filesystem::path& path);
  // Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws unless the disk has room for `num_bytes` more.
  void RequireSpace(uint64_t num_bytes) const;

  // Writes at any offset; the file grows as needed.
  void Write(uint64_t offset, std::span<const std::byte> bytes);

  // Syncs and renames. Once; nothing may be written after it.
  void Commit();

 private:
  void RemoveStaleFiles() const;
  bool TryCreate();

  std::filesystem::path path_;
  std::filesystem::path temporary_path_;
  int fd_ = -1;
};

}  // namespace whinchat
