// SPDX-License-Identifier: Apache-2.0
// Reads packed files. The JSON is covered by a checksum and every number of the header follows from
// the file's size and the JSON's, so a changed header can't pass; the JSON's own numbers are
// checked all the same, since whoever makes a file can make its checksum.
#include "checkpoint/packed_file.h"

// The implementation comes with the header: nothing to link, and it is compiled for this target.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/json_text.h"
#include "checkpoint/packed_format.h"
#include "tensor/panel_matrix.h"

namespace whinchat {
namespace {

using nlohmann::json;

constexpr JsonLimits kPackedJsonLimits = {
    .max_bytes = size_t{64} << 20, .max_depth = 64, .allow_duplicate_keys = false};

[[noreturn]] void ThrowDamaged(const std::string& file, const std::string& fault) {
  ThrowError(ErrorCode::kCorruptFile,
             "the packed file '{}' is damaged: {}; delete it and it will be made again",
             file,
             fault);
}

PackedHeader ReadHeader(std::span<const std::byte> bytes, const std::string& file) {
  PackedHeader header;
  if (bytes.size() < sizeof(header) ||
      std::memcmp(bytes.data(), kPackedMagic, sizeof(kPackedMagic)) != 0) {
    ThrowDamaged(file, "it does not start with a whole header");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kPackedVersion) {
    ThrowError(ErrorCode::kUnsupported,
               "the packed file '{}' was made by another version of this program (format {}, not "
               "{}); it will be made again",
               file,
               header.version,
               kPackedVersion);
  }
  const uint64_t max_json_bytes = bytes.size() - sizeof(header);
  if (header.json_bytes > max_json_bytes ||
      header.data_offset != RoundUp(sizeof(header) + header.json_bytes, kPackedDataAlignment) ||
      header.data_offset > bytes.size() || header.data_bytes != bytes.size() - header.data_offset) {
    ThrowDamaged(file,
                 fmt::format("its header tells of {} bytes of JSON and {} of data at {}, but "
                             "the file has {} bytes",
                             header.json_bytes,
                             header.data_bytes,
                             header.data_offset,
                             bytes.size()));
  }
  if (header.zero != 0 || header.zeros[0] != 0 || header.zeros[1] != 0) {
    ThrowDamaged(file, "unused bytes of its header are not zero");
  }
  return header;
}

const json& Member(const json& object, const char* key, const std::string& file) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) {
    ThrowDamaged(file, fmt::format("its JSON has no '{}'", key));
  }
  return *found;
}

uint64_t ReadNumber(const json& object, const char* key, const std::string& file) {
  const json& number = Member(object, key, file);
  if (!number.is_number_unsigned()) {
    ThrowDamaged(file, fmt::format("'{}' in its JSON is not a count", key));
  }
  return number.get<uint64_t>();
}

int ReadExtent(const json& object, const char* key, const std::string& file) {
  const uint64_t number = ReadNumber(object, key, file);
  if (number > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    ThrowDamaged(file, fmt::format("'{}' in its JSON is {}", key, number));
  }
  return static_cast<int>(number);
}

const std::string& ReadText(const json& object, const char* key, const std::string& file) {
  const json& text = Member(object, key, file);
  if (!text.is_string()) {
    ThrowDamaged(file, fmt::format("'{}' in its JSON is not a string", key));
  }
  return text.get_ref<const std::string&>();
}

uint64_t ReadChecksum(const json& object, const std::string& file) {
  const std::string& text = ReadText(object, "xxh3", file);
  uint64_t checksum = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), checksum, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    ThrowDamaged(file, "a checksum in its JSON is not 16 hexadecimal digits");
  }
  return checksum;
}

PackedTensorPlan ReadPlan(const json& object, const std::string& file) {
  PackedTensorPlan plan;
  plan.name = ReadText(object, "name", file);
  const uint64_t type = ReadNumber(object, "type", file);
  const json& is_vector = Member(object, "vector", file);
  if (type > static_cast<uint64_t>(PackedType::kW4) || !is_vector.is_boolean()) {
    ThrowDamaged(file, fmt::format("tensor '{}' has an unknown type", PrintableName(plan.name)));
  }
  plan.type = static_cast<PackedType>(type);
  plan.is_vector = is_vector.get<bool>();
  plan.n = ReadExtent(object, "n", file);
  plan.k = ReadExtent(object, "k", file);
  plan.bytes = ReadNumber(object, "bytes", file);
  if (plan.bytes != PackedTensorBytes(plan)) {
    ThrowDamaged(file,
                 fmt::format("tensor '{}' [{}, {}] of type {} can't have {} bytes",
                             PrintableName(plan.name),
                             plan.n,
                             plan.k,
                             PackedTypeName(plan.type),
                             plan.bytes));
  }
  return plan;
}

// `end` is where the tensor before ends, and then where this one does.
PackedTensor ReadTensor(const json& object,
                        std::span<const std::byte> data,
                        const std::string& file,
                        uint64_t& end) {
  PackedTensorPlan plan = ReadPlan(object, file);
  const uint64_t offset = ReadNumber(object, "offset", file);
  if (offset < end || offset % kPackedTensorAlignment != 0) {
    ThrowDamaged(file,
                 fmt::format("tensor '{}' is said to be at {}, which overlaps the tensor "
                             "before or is not aligned to {} bytes",
                             PrintableName(plan.name),
                             offset,
                             kPackedTensorAlignment));
  }
  if (plan.bytes > data.size() || offset > data.size() - plan.bytes) {
    ThrowDamaged(file,
                 fmt::format("tensor '{}' would end beyond the file's {} bytes of data",
                             PrintableName(plan.name),
                             data.size()));
  }
  end = offset + plan.bytes;
  return {.name = std::move(plan.name),
          .type = plan.type,
          .is_vector = plan.is_vector,
          .n = plan.n,
          .k = plan.k,
          .checksum = ReadChecksum(object, file),
          .bytes = data.subspan(static_cast<size_t>(offset), plan.bytes)};
}

std::optional<size_t> MatrixBytes(const PackedTensorPlan& plan) {
  const bool is_too_wide = HasRowScales(plan.type) && plan.k > kMaxRowScaledColumns;
  if (is_too_wide || (IsQuantized(plan.type) && plan.k % kGroupSize != 0)) {
    return std::nullopt;
  }
  const size_t panel_bytes = MakePanelLayout(plan.type, plan.k).panel_bytes;
  const auto num_panels = static_cast<size_t>((plan.n - 1) / kPanelRows + 1);
  size_t num_bytes = 0;
  if (__builtin_mul_overflow(panel_bytes, num_panels, &num_bytes)) {
    return std::nullopt;
  }
  return num_bytes;
}

}  // namespace

uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::optional<size_t> PackedTensorBytes(const PackedTensorPlan& plan) {
  if (plan.n < 1 || plan.k < 1) {
    return std::nullopt;
  }
  if (!plan.is_vector) {
    return MatrixBytes(plan);
  }
  if (plan.type != PackedType::kF32 || plan.n != 1) {
    return std::nullopt;
  }
  return static_cast<size_t>(plan.k) * sizeof(float);
}

PackedContents ParsePackedFile(std::span<const std::byte> bytes, const std::string& file) {
  const PackedHeader header = ReadHeader(bytes, file);
  const auto text = bytes.subspan(sizeof(header), static_cast<size_t>(header.json_bytes));
  if (Checksum(text) != header.json_checksum) {
    ThrowDamaged(file, "the checksum of its header does not match");
  }
  json contents = ParseJsonText(
      {reinterpret_cast<const char*>(text.data()), text.size()}, file, kPackedJsonLimits);
  PackedContents packed;
  packed.fingerprint = ReadText(contents, "fingerprint", file);
  const json& tensors = Member(contents, "tensors", file);
  if (!tensors.is_array()) {
    ThrowDamaged(file, "'tensors' in its JSON is not a list");
  }
  const auto data = bytes.subspan(static_cast<size_t>(header.data_offset));
  std::unordered_set<std::string> names;
  uint64_t end = 0;
  for (const json& object : tensors) {
    packed.tensors.push_back(ReadTensor(object, data, file, end));
    if (!names.insert(packed.tensors.back().name).second) {
      ThrowDamaged(
          file, fmt::format("it has tensor '{}' twice", PrintableName(packed.tensors.back().name)));
    }
  }
  Member(contents, "config", file);
  packed.config = std::move(contents["config"]);
  return packed;
}

PackedFile::PackedFile(const std::filesystem::path& path) : file_(path) {
  PackedContents contents = ParsePackedFile(file_.bytes(), path.string());
  fingerprint_ = std::move(contents.fingerprint);
  config_ = std::move(contents.config);
  tensors_ = std::move(contents.tensors);
}

const PackedTensor* PackedFile::FindTensor(std::string_view name) const {
  for (const PackedTensor& tensor : tensors_) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

void VerifyPackedFile(const PackedFile& file) {
  for (const PackedTensor& tensor : file.tensors()) {
    if (Checksum(tensor.bytes) != tensor.checksum) {
      ThrowDamaged(
          file.file().path().string(),
          fmt::format("the checksum of tensor '{}' does not match", PrintableName(tensor.name)));
    }
  }
}

}  // namespace whinchat
