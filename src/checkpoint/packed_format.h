// SPDX-License-Identifier: Apache-2.0
// What the writer and the reader of packed files share: the header and the checksum.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/packed_file.h"
#include "tensor/panel_matrix.h"

namespace whinchat {

inline constexpr char kPackedMagic[8] = {'W', 'H', 'I', 'N', 'C', 'H', 'A', 'T'};
// Goes up whenever the layout of panels or of this file changes: older files are made again.
inline constexpr uint32_t kPackedVersion = 1;
inline constexpr uint64_t kPackedDataAlignment = 4096;
inline constexpr uint64_t kPackedTensorAlignment = kLineBytes;

struct PackedHeader {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t zero = 0;
  uint64_t json_checksum = 0;
  uint64_t json_bytes = 0;
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
  uint64_t zeros[2] = {};
};
static_assert(sizeof(PackedHeader) == 64);
static_assert(std::endian::native == std::endian::little, "packed files are little endian");

inline uint64_t RoundUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// XXH3, 64 bits.
uint64_t Checksum(std::span<const std::byte> bytes);

struct PackedContents {
  std::string fingerprint;
  nlohmann::json config;
  std::vector<PackedTensor> tensors;
};

// Views point into `bytes`. `file` is the name for messages. No file is opened here, so that tests
// and fuzzing can give it any bytes. Throws as PackedFile does.
PackedContents ParsePackedFile(std::span<const std::byte> bytes, const std::string& file);

}  // namespace whinchat
