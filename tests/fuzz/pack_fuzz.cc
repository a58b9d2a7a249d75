// SPDX-License-Identifier: Apache-2.0
// Any bits as weights of any dtype into panels of any type: packing says what is wrong with them,
// or gives finite values.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/pack/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whinchat;
  if (size < 2) {
    return 0;
  }
  constexpr int kElements = 288;  // more than one piece of 256
  const auto dtype = static_cast<DType>(data[0] % 18);
  const auto type = static_cast<PackedType>(data[1] % 8);
  const int k = BlockElements(dtype) == 256 ? 256 : kElements;
  std::vector<std::byte> row(StorageBytes(dtype, k));
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = size > 2 ? static_cast<std::byte>(data[2 + i % (size - 2)]) : std::byte{0};
  }
  std::vector<std::byte> panel(MakePanelLayout(type, k).panel_bytes);
  const kernels::SourceRow source = row.data();
  const auto result = kernels::PackPanel(type, dtype, {&source, 1}, k, panel.data());
  if (result == kernels::PackResult::kOk) {
    std::vector<float> values(static_cast<size_t>(k));
    kernels::UnpackRow({type, 1, k, panel.data()}, 0, values.data());
    for (const float value : values) {
      WHINCHAT_CHECK(std::isfinite(value));
    }
  }
  return 0;
}
