// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace whinchat {
namespace {

struct DTypeTraits {
  std::string_view name;
  int block_elements;
  size_t block_bytes;
};

// In the order of DType. Block sizes are those of the GGUF format.
constexpr std::array<DTypeTraits, 18> kTraits = {{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"BF16", 1, 2},
    {"I8", 1, 1},
    {"I32", 1, 4},
    {"I64", 1, 8},
    {"Q4_0", 32, 18},
    {"Q4_1", 32, 20},
    {"Q5_0", 32, 22},
    {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},
    {"Q2_K", 256, 84},
    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},
    {"Q5_K", 256, 176},
    {"Q6_K", 256, 210},
    {"IQ4_NL", 32, 18},
    {"IQ4_XS", 256, 136},
}};

const DTypeTraits& Traits(DType dtype) {
  return kTraits[static_cast<size_t>(dtype)];
}

}  // namespace

int BlockElements(DType dtype) {
  return Traits(dtype).block_elements;
}

size_t BlockBytes(DType dtype) {
  return Traits(dtype).block_bytes;
}

size_t StorageBytes(DType dtype, int64_t num_elements) {
  const DTypeTraits& traits = Traits(dtype);
  WHINCHAT_CHECK(num_elements >= 0 && num_elements % traits.block_elements == 0);
  return static_cast<size_t>(num_elements / traits.block_elements) * traits.block_bytes;
}

std::string_view DTypeName(DType dtype) {
  return Traits(dtype).name;
}

}  // namespace whinchat
