// SPDX-License-Identifier: Apache-2.0
// A cursor over the bytes of a file that never leaves them. Little endian. Reading past the end
// throws Error{kCorruptFile} that names the file and what was being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace whinchat {

class ByteReader {
 public:
  // `file` is for messages. Both must outlive the reader.
  ByteReader(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  const std::string& file() const { return file_; }

  // Goes back to a position it has been at.
  void Rewind(size_t position) { position_ = position; }

  // `what` completes "ends inside ...".
  template <typename T>
  T Read(std::string_view what) {
    T value;
    std::memcpy(&value, ReadBytes(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> ReadBytes(uint64_t num_bytes, std::string_view what) {
    if (num_bytes > remaining()) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' ends inside {}: {} bytes expected at offset {}, {} left; the file is "
                 "truncated or damaged, download it again",
                 file_,
                 what,
                 num_bytes,
                 position_,
                 remaining());
    }
    const auto read = bytes_.subspan(position_, static_cast<size_t>(num_bytes));
    position_ += static_cast<size_t>(num_bytes);
    return read;
  }

  // A string with a length of eight bytes before it. A view into the bytes.
  std::string_view ReadString(std::string_view what) {
    const auto length = Read<uint64_t>(what);
    const auto chars = ReadBytes(length, what);
    return {reinterpret_cast<const char*>(chars.data()), chars.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  size_t position_ = 0;
};

}  // namespace whinchat
