// SPDX-License-Identifier: Apache-2.0
// A tensor somewhere else: in a mapped file or a buffer. Never owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace whinchat {

struct TensorView {
  std::string name;  // as the checkpoint calls it
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // outermost first, rows contiguous (PyTorch order, also for GGUF)
  std::span<const std::byte> bytes;

  int64_t NumElements() const;
  // For messages: "[1024, 3072]".
  std::string ShapeText() const;
};

}  // namespace whinchat
