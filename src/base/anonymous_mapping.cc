// SPDX-License-Identifier: Apache-2.0
#include "base/anonymous_mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace whinchat {

AnonymousMapping::AnonymousMapping(size_t bytes, std::string_view purpose) : size_(bytes) {
  if (bytes == 0) {
    return;
  }
  // NORESERVE: the KV cache is sized for the longest context and mostly never touched.
  void* address = ::mmap(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    ThrowError(ErrorCode::kOutOfMemory,
               "can't reserve {} MB for {}: {}",
               bytes >> 20,
               purpose,
               std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(address);
}

AnonymousMapping::~AnonymousMapping() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

AnonymousMapping::AnonymousMapping(AnonymousMapping&& other) noexcept {
  *this = std::move(other);
}

AnonymousMapping& AnonymousMapping::operator=(AnonymousMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace whinchat
