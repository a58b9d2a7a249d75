// SPDX-License-Identifier: Apache-2.0
// Any bytes as a GGUF file: parsed or refused with an Error; views stay inside the bytes.
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/gguf_parser.h"

namespace {

void CheckInside(std::span<const std::byte> inner, std::span<const std::byte> outer) {
  WHINCHAT_CHECK(inner.empty() || (inner.data() >= outer.data() &&
                                   inner.data() + inner.size() <= outer.data() + outer.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const whinchat::GgufContents contents = whinchat::ParseGguf(bytes, "model.gguf");
    for (const whinchat::TensorView& tensor : contents.tensors) {
      CheckInside(tensor.bytes, bytes);
      WHINCHAT_CHECK(tensor.bytes.size() ==
                     whinchat::StorageBytes(tensor.dtype, tensor.NumElements()));
    }
    for (const whinchat::GgufArray& array : contents.arrays) {
      CheckInside(array.bytes, bytes);
    }
    (void)contents.config.dump();
  } catch (const whinchat::Error&) {
  }
  return 0;
}
