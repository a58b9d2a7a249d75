// SPDX-License-Identifier: Apache-2.0
// Dequantization against the Python gguf package's own results, bit for bit; panels against the
// definition of tensor/panel_matrix.h: exact for faithful types, bounded errors for the others.
#include "kernels/pack/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/float16.h"

namespace whinchat::kernels {
namespace {

constexpr std::array<DType, 12> kBlockTypes = {
    DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,   DType::kQ2_K,
    DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS};

struct GoldenBlocks {
  int num_values = 0;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

GoldenBlocks ReadGolden(DType dtype) {
  std::string name(DTypeName(dtype));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream file(WHINCHAT_TEST_DATA_DIR "/golden/gguf/" + name + ".bin", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  GoldenBlocks golden;
  uint32_t num_values = 0;
  if (bytes.size() < sizeof(num_values)) {
    ADD_FAILURE() << "no golden file for " << name;
    return golden;
  }
  std::memcpy(&num_values, bytes.data(), sizeof(num_values));
  golden.num_values = static_cast<int>(num_values);
  golden.blocks.resize(StorageBytes(dtype, golden.num_values));
  golden.values.resize(num_values);
  if (bytes.size() != sizeof(num_values) + golden.blocks.size() + num_values * sizeof(float)) {
    ADD_FAILURE() << "golden file of " << name << " has a wrong size";
    return golden;
  }
  std::memcpy(golden.blocks.data(), bytes.data() + sizeof(num_values), golden.blocks.size());
  std::memcpy(golden.values.data(),
              bytes.data() + sizeof(num_values) + golden.blocks.size(),
              num_values * sizeof(float));
  return golden;
}

std::string TypeName(const testing::TestParamInfo<DType>& param) {
  return std::string(DTypeName(param.param));
}

class BlockTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, BlockTypes, testing::ValuesIn(kBlockTypes), TypeName);

TEST_P(BlockTypes, DequantizeToTheBitsOfTheReference) {
  const GoldenBlocks golden = ReadGolden(GetParam());
  ASSERT_GE(golden.num_values, 2048);
  std::vector<float> values(golden.values.size());
  DequantizeRow(GetParam(), golden.blocks.data(), golden.num_values, values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(golden.values[i]))
        << "value " << i << ": " << values[i] << " instead of " << golden.values[i];
  }
}

}  // namespace
}  // namespace whinchat::kernels
