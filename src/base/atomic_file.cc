// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <system_error>

#include "base/check.h"
#include "base/error.h"

namespace whinchat {
namespace {

constexpr int kMaxCreateAttempts = 16;

[[noreturn]] void ThrowSystemError(const std::filesystem::path& path, const char* action) {
  const int error = errno;
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  ThrowError(code, "can't {} '{}': {}", action, path.string(), std::strerror(error));
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::string TemporaryPrefix(const std::filesystem::path& path) {
  return path.filename().string() + ".partial-";
}

bool TryLock(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

// Removes a temporary file that no living process holds a lock on.
void RemoveIfStale(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    return;
  }
  if (TryLock(fd)) {
    ::unlink(path.c_str());
  }
  ::close(fd);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  RemoveStaleFiles();
  for (int attempt = 0; attempt < kMaxCreateAttempts; ++attempt) {
    if (TryCreate()) {
      return;
    }
  }
  ThrowError(ErrorCode::kIo, "can't create a temporary file for '{}'", path.string());
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::unlink(temporary_path_.c_str());
    ::close(fd_);
  }
}

void AtomicFile::RemoveStaleFiles() const {
  const std::string prefix = TemporaryPrefix(path_);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(FolderOf(path_), error), end;
       !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) {
      RemoveIfStale(entry->path());
    }
  }
}

// False if the name is taken, or if another writer took the file for a stale one before it was
// locked.
bool AtomicFile::TryCreate() {
  temporary_path_ = FolderOf(path_) / fmt::format("{}{:08x}",
                                                  TemporaryPrefix(path_),
                                                  static_cast<uint32_t>(std::random_device()()));
  const int fd = ::open(temporary_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0 && errno == EEXIST) {
    return false;
  }
  if (fd < 0) {
    ThrowSystemError(path_, "create");
  }
  // A file system without locks refuses them to the others too, so nothing is taken for stale.
  const bool is_locked = TryLock(fd) || (errno != EWOULDBLOCK && errno != EINTR);
  struct stat status = {};
  if (!is_locked || ::fstat(fd, &status) != 0 || status.st_nlink == 0) {
    ::unlink(temporary_path_.c_str());
    ::close(fd);
    return false;
  }
  fd_ = fd;
  return true;
}

void AtomicFile::RequireSpace(uint64_t num_bytes) const {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(FolderOf(path_), error);
  if (!error && space.available < num_bytes) {
    ThrowError(ErrorCode::kIo,
               "'{}' needs {} MB, but only {} MB are free in its folder; free some space or choose "
               "another folder",
               path_.string(),
               num_bytes / 1'000'000 + 1,
               space.available / 1'000'000);
  }
}

void AtomicFile::Write(uint64_t offset, std::span<const std::byte> bytes) {
  WHINCHAT_CHECK(fd_ >= 0);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      ThrowSystemError(path_, "write");
    }
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::Commit() {
  WHINCHAT_CHECK(fd_ >= 0);
  if (::fsync(fd_) != 0) {
    ThrowSystemError(path_, "write");
  }
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    ThrowSystemError(path_, "rename a temporary file to");
  }
  ::close(fd_);
  fd_ = -1;
  // The new name itself: without this a power cut may bring the old file back, which is whole too,
  // so a refusal is no error.
  const int folder_fd = ::open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    (void)::fsync(folder_fd);
    ::close(folder_fd);
  }
}

}  // namespace whinchat
