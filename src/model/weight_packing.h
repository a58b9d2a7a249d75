// SPDX-License-Identifier: Apache-2.0
// One tensor of a checkpoint into the kernels' layout: panels for a matrix, plain fp32 for a
// vector.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "model/model.h"
#include "model/weight_map.h"
#include "tensor/tensor_view.h"

namespace whinchat {

// A weight whose tensor was found and has the right shape.
struct WeightSource {
  const WeightSpec* spec = nullptr;
  const TensorView* tensor = nullptr;
  PackedType type = PackedType::kF32;
  std::string file_name;  // for messages
};

// The type a matrix is packed into. Rows whose length is no multiple of the group stay floats: the
// few models that have them run, only slower.
PackedType ChoosePackedType(WeightMode mode, DType dtype, int k);

// Bytes of the packed weight.
size_t PackedBytes(const WeightSpec& spec, PackedType type);

// Fills `packed` (PackedBytes of it, 64-byte aligned) with all threads of the pool. Throws
// Error{kCorruptFile} naming the tensor and the row when a value is not finite.
void PackWeight(const WeightSource& source, ThreadPool* pool, std::span<std::byte> packed);

}  // namespace whinchat
