// SPDX-License-Identifier: Apache-2.0
// Rows of a file as fp32. Products and sums are done in fp32 in the order of GGUF's definition, so
// the bits are those of its reference implementation.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/pack/block_codes.h"
#include "kernels/pack/pack.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace whinchat::kernels {
namespace {

template <typename Stored, typename Convert>
void ConvertRow(SourceRow row, int k, float* values, Convert convert) {
  for (int i = 0; i < k; ++i) {
    Stored stored;
    std::memcpy(&stored, row + static_cast<size_t>(i) * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
}

void ScaleGroup(const BlockFormat& format, const BlockCodes& block, int group, float* values) {
  const int8_t* codes = block.codes.data() + group * format.group_elements;
  const float scale = block.scales[static_cast<size_t>(group)];
  for (int i = 0; i < format.group_elements; ++i) {
    values[i] = static_cast<float>(codes[i]) * scale;
  }
  if (format.has_mins) {
    const float min = block.mins[static_cast<size_t>(group)];
    for (int i = 0; i < format.group_elements; ++i) {
      values[i] += min;
    }
  }
}

void DequantizeBlocks(DType dtype, const BlockFormat& format, SourceRow row, int k, float* values) {
  const int block_elements = BlockElements(dtype);
  const size_t block_bytes = BlockBytes(dtype);
  const auto* source = reinterpret_cast<const uint8_t*>(row);
  BlockCodes block;
  for (int begin = 0; begin < k; begin += block_elements, source += block_bytes) {
    format.decode(source, block);
    for (int group = 0; group < block_elements / format.group_elements; ++group) {
      ScaleGroup(format, block, group, values + begin + group * format.group_elements);
    }
  }
}

}  // namespace

void DequantizeRow(DType dtype, SourceRow row, int k, float* values) {
  if (const BlockFormat* format = FindBlockFormat(dtype)) {
    DequantizeBlocks(dtype, *format, row, k, values);
    return;
  }
  if (dtype == DType::kF32) {
    std::memcpy(values, row, static_cast<size_t>(k) * sizeof(float));
  } else if (dtype == DType::kF16) {
    ConvertRow<uint16_t>(row, k, values, Float16ToFloat);
  } else if (dtype == DType::kBF16) {
    ConvertRow<uint16_t>(row, k, values, BFloat16ToFloat);
  } else if (dtype == DType::kI8) {
    ConvertRow<int8_t>(row, k, values, [](int8_t value) { return static_cast<float>(value); });
  } else if (dtype == DType::kI32) {
    ConvertRow<int32_t>(row, k, values, [](int32_t value) { return static_cast<float>(value); });
  } else {
    ConvertRow<int64_t>(row, k, values, [](int64_t value) { return static_cast<float>(value); });
  }
}

}  // namespace whinchat::kernels
