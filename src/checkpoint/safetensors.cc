// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/byte_reader.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/safetensors_header.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

constexpr std::array<std::pair<std::string_view, DType>, 6> kDTypes = {{
    {"F32", DType::kF32},
    {"F16", DType::kF16},
    {"BF16", DType::kBF16},
    {"I8", DType::kI8},
    {"I32", DType::kI32},
    {"I64", DType::kI64},
}};

std::string_view ReadHeaderText(ByteReader& reader, std::span<const std::byte> bytes) {
  const bool has_length = bytes.size() > 8;
  const uint64_t length = has_length ? reader.Read<uint64_t>("the header length") : 0;
  if (!has_length || bytes[8] != std::byte{'{'}) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' is {}",
               reader.file(),
               DescribeForeignBytes(bytes, "safetensors"));
  }
  if (length > kMaxHeaderBytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the safetensors header would have {} bytes, but at most {} are allowed; the "
               "file is damaged, download it again",
               reader.file(),
               length,
               kMaxHeaderBytes);
  }
  const auto header = reader.ReadBytes(length, "the safetensors header");
  return {reinterpret_cast<const char*>(header.data()), header.size()};
}

DType FindDType(const SafetensorsEntry& entry, const std::string& file) {
  for (const auto& [name, dtype] : kDTypes) {
    if (name == entry.dtype) {
      return dtype;
    }
  }
  ThrowError(ErrorCode::kUnsupported,
             "'{}': tensor '{}' has dtype {}, which is not supported; F32, F16, BF16, I8, I32 and "
             "I64 are",
             file,
             PrintableName(entry.name),
             PrintableName(entry.dtype));
}

// Nothing if the product overflows.
std::optional<uint64_t> CountBytes(const std::vector<int64_t>& shape, DType dtype) {
  uint64_t num_bytes = BlockBytes(dtype);
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(num_bytes, static_cast<uint64_t>(extent), &num_bytes)) {
      return std::nullopt;
    }
  }
  return num_bytes;
}

// `expected_begin` is the end of the data of the tensor before.
TensorView MakeView(SafetensorsEntry entry,
                    uint64_t expected_begin,
                    std::span<const std::byte> data,
                    const std::string& file) {
  TensorView tensor;
  tensor.dtype = FindDType(entry, file);
  tensor.name = std::move(entry.name);
  tensor.shape = std::move(entry.shape);
  const uint64_t begin = entry.offsets[0];
  const uint64_t end = entry.offsets[1];
  if (begin != expected_begin || end < begin) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the data of tensor '{}' are said to be at {} to {}, but must start at {}, "
               "where the tensor before ends; the file is damaged, download it again",
               file,
               PrintableName(tensor.name),
               begin,
               end,
               expected_begin);
  }
  if (end > data.size()) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the data of tensor '{}' {} end at {}, but the file's data end at {}; the "
               "file is truncated, download it again",
               file,
               PrintableName(tensor.name),
               tensor.ShapeText(),
               end,
               data.size());
  }
  const std::optional<uint64_t> num_bytes = CountBytes(tensor.shape, tensor.dtype);
  if (num_bytes != end - begin) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor '{}' {} of dtype {} does not fill the {} bytes its offsets give it; "
               "the file is damaged, download it again",
               file,
               PrintableName(tensor.name),
               tensor.ShapeText(),
               DTypeName(tensor.dtype),
               end - begin);
  }
  tensor.bytes = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return tensor;
}

}  // namespace

std::vector<TensorView> ParseSafetensors(std::span<const std::byte> bytes,
                                         const std::string& file) {
  ByteReader reader(bytes, file);
  std::vector<SafetensorsEntry> entries =
      ReadSafetensorsHeader(ReadHeaderText(reader, bytes), file);
  std::sort(
      entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return std::tie(a.offsets, a.name) < std::tie(b.offsets, b.name);
      });
  const auto data = bytes.subspan(reader.position());
  std::vector<TensorView> tensors;
  uint64_t end = 0;
  for (SafetensorsEntry& entry : entries) {
    const uint64_t next_end = entry.offsets[1];
    tensors.push_back(MakeView(std::move(entry), end, data, file));
    end = next_end;
  }
  if (end != data.size()) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' has {} bytes of data, but its tensors fill {}; the file is damaged, download "
               "it again",
               file,
               data.size(),
               end);
  }
  return tensors;
}

}  // namespace whinchat
