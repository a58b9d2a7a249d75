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
  uint64_t checksum = 0;  // XXH3 of the bytes when they were written
  std::span<const std::byte> bytes;
};

// Reads: maps the file. Throws Error{kCorruptFile} on any contradiction, Error{kUnsupported} if
// another version of this program wrote it: the caller then writes it again.
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

// Bytes of a tensor as it stands in the file. Nothing if there can be no such tensor: an extent
// below 1, k no multiple of 32 for a quantized type, a vector that is not fp32 with n = 1.
std::optional<size_t> PackedTensorBytes(const PackedTensorPlan& plan);

// Writes to a temporary name beside `path` and renames at the end, so no half-written file ever has
// the final name; makes the folder if there is none. `fill` is called once per tensor in order with
// a zeroed, 64-byte aligned buffer to fill; what it throws passes through. Checks free disk space
// first. Throws Error{kIo} on a full disk or missing permission, leaving nothing behind.
// Precondition: plan.bytes == PackedTensorBytes(plan) for each plan.
void WritePackedFile(const std::filesystem::path& path,
                     std::string_view fingerprint,
                     const nlohmann::json& config,
                     const std::vector<PackedTensorPlan>& plans,
                     const std::function<void(size_t tensor_idx, std::span<std::byte>)>& fill);

// Checks every tensor's checksum. Throws Error{kCorruptFile} naming the first bad tensor.
void VerifyPackedFile(const PackedFile& file);

}  // namespace whinchat
