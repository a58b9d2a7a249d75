// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_view.h"

#include <fmt/ranges.h>

namespace whinchat {

int64_t TensorView::NumElements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    product *= extent;
  }
  return product;
}

std::string TensorView::ShapeText() const {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace whinchat
