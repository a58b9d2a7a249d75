// SPDX-License-Identifier: Apache-2.0
// The packed file: a model's weights in the kernels' own layout (tensor/panel_matrix.h), in
// execution order, to be mapped and used as it is. Format (version 1, little endian):
//   header   64 bytes: magic "WHINCHAT", version u32, header checksum (xxh3 of the JSON) u64,
//            JSON bytes u64, data offset u64, data bytes u64
//   JSON     {"fingerprint", "config", "tensors":
//   [{"name","type","n","k","offset","bytes","xxh3"}]} data     each tensor at a 64-byte aligned
//   offset from the data offset (itself 4,096-aligned)
// A start checks the header checksum, the sizes and the fingerprint only; tensor checksums are
// verified by VerifyPackedFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/panel_matrix.h"

namespace whinchat {

struct PackedTensor {
  std::string name;
  PackedType type = PackedType::kF32;  // a vector (norm gain, bias) is kF32 with n = 1, plain [k]
  bool is_vector = false;              // a vector's bytes are k plain fp32, not panels
  int n = 0;
  int k = 0;
  std::span<const std::byte> bytes;
};

// Reads: maps the file. Throws Error{kCorruptFile} on any contradiction.
class PackedFile {
 public:
  explicit PackedFile(const std::filesystem::path& path);

  const std::string& fingerprint() const { return fingerprint_; }
  const nlohmann::json& config() const { return config_; }
  const std::vector<PackedTensor>& tensors() const { return tensors_; }
  const PackedTensor* FindTensor(std::string_view name) const;
  const MappedFile& file() const { return file_; }

 private:
  MappedFile file_;
  std::string fingerprint_;
  nlohmann::json config_;
  std::vector<PackedTensor> tensors_;
};

// What the writer is told before the bytes exist.
struct PackedTensorPlan {
  std::string name;
  PackedType type = PackedType::kF32;
  bool is_vector = false;
  int n = 0;
  int k = 0;
  size_t bytes = 0;
};

// Writes to a temporary name beside `path` and renames at the end, so no half-written file ever has
// the final name. `fill` is called once per tensor in order with a buffer to fill. Checks free disk
// space first. Throws Error{kIo} on a full disk or missing permission, leaving nothing behind.
void WritePackedFile(const std::filesystem::path& path,
                     std::string_view fingerprint,
                     const nlohmann::json& config,
                     const std::vector<PackedTensorPlan>& plans,
                     const std::function<void(size_t tensor_idx, std::span<std::byte>)>& fill);

// Checks every tensor's checksum. Throws Error{kCorruptFile} naming the first bad tensor.
void VerifyPackedFile(const PackedFile& file);

}  // namespace whinchat
