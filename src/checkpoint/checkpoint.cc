// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

namespace whinchat {

const TensorView* Checkpoint::FindTensor(std::string_view name) const {
  for (const TensorView& tensor : tensors()) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

}  // namespace whinchat
