// SPDX-License-Identifier: Apache-2.0
// A large piece of zeroed memory straight from the system. Address space is reserved at once; a
// page costs memory only when first written.
#pragma once

#include <cstddef>
#include <string_view>

namespace whinchat {

class AnonymousMapping {
 public:
  AnonymousMapping() = default;
  // Throws Error{kOutOfMemory} naming `purpose` ("the KV cache") and the size.
  AnonymousMapping(size_t bytes, std::string_view purpose);
  ~AnonymousMapping();
  AnonymousMapping(AnonymousMapping&& other) noexcept;
  AnonymousMapping& operator=(AnonymousMapping&& other) noexcept;
  AnonymousMapping(const AnonymousMapping&) = delete;
  AnonymousMapping& operator=(const AnonymousMapping&) = delete;

  // Page-aligned; null when empty.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace whinchat
