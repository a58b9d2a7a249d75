// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: parsed or refused with an Error; views stay inside the bytes.
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    size_t num_bytes = 0;
    for (const auto& tensor : whinchat::ParseSafetensors(bytes, "model.safetensors")) {
      WHINCHAT_CHECK(tensor.bytes.empty() ||
                     (tensor.bytes.data() >= bytes.data() &&
                      tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + size));
      num_bytes += tensor.bytes.size();
    }
    WHINCHAT_CHECK(num_bytes < size);
  } catch (const whinchat::Error&) {
  }
  return 0;
}
