// SPDX-License-Identifier: Apache-2.0
// Reader of one safetensors file in memory: eight bytes of header length, a JSON header, data.
// No file is opened here, so that tests and fuzzing can give it any bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"

namespace whinchat {

// Views into `bytes`, in the order of the data. `file` is the name for messages. The data must be
// covered by the tensors without gap or overlap, as the format demands.
// Throws Error{kCorruptFile or kUnsupported}.
std::vector<TensorView> ParseSafetensors(std::span<const std::byte> bytes, const std::string& file);

}  // namespace whinchat
