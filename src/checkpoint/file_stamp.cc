// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file_stamp.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"

namespace whinchat {

std::string FileStamp(const std::filesystem::path& path) {
  std::error_code error;
  const auto num_bytes = std::filesystem::file_size(path, error);
  const auto mtime =
      error ? std::filesystem::file_time_type() : std::filesystem::last_write_time(path, error);
  if (error) {
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    ThrowError(is_missing ? ErrorCode::kNotFound : ErrorCode::kIo,
               "can't read the size and time of '{}': {}",
               path.string(),
               error.message());
  }
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::file_clock::to_sys(mtime).time_since_epoch());
  return fmt::format("{}:{}:{}", path.filename().string(), num_bytes, time.count());
}

}  // namespace whinchat
