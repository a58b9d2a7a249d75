// SPDX-License-Identifier: Apache-2.0
// Cuts one mapping into aligned buffers. Run once without memory it only counts, so the size that
// is announced and the size that is used come from the same code.
#pragma once

#include <cstddef>

#include "tensor/panel_matrix.h"

namespace whinchat {

class ScratchArena {
 public:
  // Null: only counts, and hands out null.
  explicit ScratchArena(std::byte* memory) : memory_(memory) {}

  template <typename T>
  T* Take(size_t count) {
    std::byte* begin = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (count * sizeof(T) + kLineBytes - 1) / kLineBytes * kLineBytes;
    return reinterpret_cast<T*>(begin);
  }

  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

}  // namespace whinchat
