// SPDX-License-Identifier: Apache-2.0
// Writes packed files, holding one tensor in memory at a time. The JSON stands before the data but
// holds their checksums, so its place is kept free (checksums have a fixed width) and it is written
// last.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/error.h"
#include "checkpoint/packed_file.h"
#include "checkpoint/packed_format.h"

namespace whinchat {
namespace {

using nlohmann::json;

// A buffer at the alignment that tensors have in the mapped file.
struct alignas(kPackedTensorAlignment) Line {
  std::byte bytes[kPackedTensorAlignment];
};

// Bytes that are not UTF-8 (a name in a foreign file's metadata) are replaced.
std::string DumpJson(const json& contents) {
  return contents.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

class PackedFileLayout {
 public:
  PackedFileLayout(std::string_view fingerprint,
                   const json& config,
                   const std::vector<PackedTensorPlan>& plans)
      : contents_{{"fingerprint", fingerprint}, {"config", config}, {"tensors", json::array()}} {
    for (const PackedTensorPlan& plan : plans) {
      WHINCHAT_CHECK(plan.bytes == PackedTensorBytes(plan));
      offsets_.push_back(RoundUp(data_bytes_, kPackedTensorAlignment));
      data_bytes_ = offsets_.back() + plan.bytes;
      contents_["tensors"].push_back({{"name", plan.name},
                                      {"type", static_cast<uint32_t>(plan.type)},
                                      {"vector", plan.is_vector},
                                      {"n", plan.n},
                                      {"k", plan.k},
                                      {"offset", offsets_.back()},
                                      {"bytes", plan.bytes},
                                      {"xxh3", ChecksumText(0)}});
    }
    data_offset_ = RoundUp(sizeof(PackedHeader) + DumpJson(contents_).size(), kPackedDataAlignment);
  }

  uint64_t FileBytes() const { return data_offset_ + data_bytes_; }
  // From the file's start.
  uint64_t TensorOffset(size_t tensor_idx) const { return data_offset_ + offsets_[tensor_idx]; }

  void SetChecksum(size_t tensor_idx, uint64_t checksum) {
    contents_["tensors"][tensor_idx]["xxh3"] = ChecksumText(checksum);
  }

  // Header and JSON, padded to where the data start.
  std::vector<std::byte> MakeHeader() const {
    const std::string text = DumpJson(contents_);
    PackedHeader header;
    std::memcpy(header.magic, kPackedMagic, sizeof(kPackedMagic));
    header.version = kPackedVersion;
    header.json_checksum = Checksum(std::as_bytes(std::span(text)));
    header.json_bytes = text.size();
    header.data_offset = data_offset_;
    header.data_bytes = data_bytes_;
    WHINCHAT_CHECK(sizeof(header) + text.size() <= data_offset_);
    std::vector<std::byte> bytes(static_cast<size_t>(data_offset_));
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + sizeof(header), text.data(), text.size());
    return bytes;
  }

 private:
  static std::string ChecksumText(uint64_t checksum) { return fmt::format("{:016x}", checksum); }

  json contents_;
  std::vector<uint64_t> offsets_;  // from the data's start
  uint64_t data_bytes_ = 0;
  uint64_t data_offset_ = 0;
};

size_t MaxBytes(const std::vector<PackedTensorPlan>& plans) {
  size_t max_bytes = 0;
  for (const PackedTensorPlan& plan : plans) {
    max_bytes = std::max(max_bytes, plan.bytes);
  }
  return max_bytes;
}

void MakeFolderOf(const std::filesystem::path& path) {
  if (!path.has_parent_path()) {
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    ThrowError(ErrorCode::kIo,
               "can't make the folder '{}': {}",
               path.parent_path().string(),
               error.message());
  }
}

}  // namespace

void WritePackedFile(const std::filesystem::path& path,
                     std::string_view fingerprint,
                     const json& config,
                     const std::vector<PackedTensorPlan>& plans,
                     const std::function<void(size_t tensor_idx, std::span<std::byte>)>& fill) {
  PackedFileLayout layout(fingerprint, config, plans);
  MakeFolderOf(path);
  AtomicFile file(path);
  file.RequireSpace(layout.FileBytes());
  std::vector<Line> buffer;
  buffer.reserve(RoundUp(MaxBytes(plans), sizeof(Line)) / sizeof(Line));
  for (size_t i = 0; i < plans.size(); ++i) {
    buffer.assign(RoundUp(plans[i].bytes, sizeof(Line)) / sizeof(Line), Line{});
    const std::span<std::byte> bytes(buffer.data()->bytes, plans[i].bytes);
    fill(i, bytes);
    layout.SetChecksum(i, Checksum(bytes));
    file.Write(layout.TensorOffset(i), bytes);
  }
  file.Write(0, layout.MakeHeader());
  file.Commit();
}

}  // namespace whinchat
