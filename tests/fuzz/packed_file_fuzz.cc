// SPDX-License-Identifier: Apache-2.0
// Packed files: the bytes as a whole file, and as the JSON of a file whose header is right, since a
// checksum would otherwise keep the fuzzer out.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/packed_format.h"

namespace {

void Parse(std::span<const std::byte> bytes) {
  try {
    for (const auto& tensor : whinchat::ParsePackedFile(bytes, "model.packed").tensors) {
      WHINCHAT_CHECK(tensor.bytes.data() >= bytes.data() &&
                     tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
    }
  } catch (const whinchat::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kDataBytes = 1024;
  const std::span<const std::byte> text(reinterpret_cast<const std::byte*>(data), size);
  Parse(text);
  whinchat::PackedHeader header;
  std::memcpy(header.magic, whinchat::kPackedMagic, sizeof(header.magic));
  header.version = whinchat::kPackedVersion;
  header.json_checksum = whinchat::Checksum(text);
  header.json_bytes = size;
  header.data_offset = whinchat::RoundUp(sizeof(header) + size, whinchat::kPackedDataAlignment);
  header.data_bytes = kDataBytes;
  std::vector<std::byte> bytes(static_cast<size_t>(header.data_offset) + kDataBytes);
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (size > 0) {
    std::memcpy(bytes.data() + sizeof(header), data, size);
  }
  Parse(bytes);
  return 0;
}
