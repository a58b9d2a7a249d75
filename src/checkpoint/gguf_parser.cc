// SPDX-License-Identifier: Apache-2.0
// Header, metadata, tensor table and data of a GGUF file, in that order. Every count is compared
// with the bytes left before anything is allocated, and every product is checked for overflow.
#include "checkpoint/gguf_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/byte_reader.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/gguf_metadata.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

constexpr size_t kMinPairBytes = 13;    // key length, type, one byte
constexpr size_t kMinTensorBytes = 24;  // name length, dimension count, type, offset
constexpr uint32_t kMaxDimensions = 4;
constexpr size_t kMaxTensorNameBytes = 4096;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 1u << 24;

struct GgmlType {
  uint32_t number;
  std::string_view name;
  std::optional<DType> dtype;  // nothing: known by name only
};

constexpr std::array<GgmlType, 42> kGgmlTypes = {{
    {0, "F32", DType::kF32},
    {1, "F16", DType::kF16},
    {2, "Q4_0", DType::kQ4_0},
    {3, "Q4_1", DType::kQ4_1},
    {4, "Q4_2", {}},
    {5, "Q4_3", {}},
    {6, "Q5_0", DType::kQ5_0},
    {7, "Q5_1", DType::kQ5_1},
    {8, "Q8_0", DType::kQ8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", DType::kQ2_K},
    {11, "Q3_K", DType::kQ3_K},
    {12, "Q4_K", DType::kQ4_K},
    {13, "Q5_K", DType::kQ5_K},
    {14, "Q6_K", DType::kQ6_K},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", DType::kIQ4_NL},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", DType::kIQ4_XS},
    {24, "I8", DType::kI8},
    {25, "I16", {}},
    {26, "I32", DType::kI32},
    {27, "I64", DType::kI64},
    {28, "F64", {}},
    {29, "IQ1_M", {}},
    {30, "BF16", DType::kBF16},
    {31, "Q4_0_4_4", {}},
    {32, "Q4_0_4_8", {}},
    {33, "Q4_0_8_8", {}},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {36, "IQ4_NL_4_4", {}},
    {37, "IQ4_NL_4_8", {}},
    {38, "IQ4_NL_8_8", {}},
    {39, "MXFP4", {}},
    {40, "NVFP4", {}},
    {41, "Q1_0", {}},
}};

struct GgufHeader {
  uint64_t num_tensors = 0;
  uint64_t num_pairs = 0;
};

void CheckVersion(uint32_t version, const std::string& file) {
  if (version == 2 || version == 3) {
    return;
  }
  if (version == 0x02000000 || version == 0x03000000) {
    ThrowError(ErrorCode::kUnsupported,
               "'{}' is a big-endian GGUF file; only little-endian ones are supported, so get or "
               "convert the model without --bigendian",
               file);
  }
  if (version == 1) {
    ThrowError(ErrorCode::kUnsupported,
               "'{}' has GGUF version 1; versions 2 and 3 are supported, so download or convert "
               "the model again",
               file);
  }
  ThrowError(ErrorCode::kUnsupported,
             "'{}' has GGUF version {}; versions 2 and 3 are supported",
             file,
             version);
}

GgufHeader ReadHeader(std::span<const std::byte> bytes, ByteReader& reader) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), 4));
  if (start != "GGUF") {
    ThrowError(
        ErrorCode::kCorruptFile, "'{}' is {}", reader.file(), DescribeForeignBytes(bytes, "GGUF"));
  }
  reader.ReadBytes(4, "the header");
  CheckVersion(reader.Read<uint32_t>("the header"), reader.file());
  GgufHeader header;
  header.num_tensors = reader.Read<uint64_t>("the header");
  header.num_pairs = reader.Read<uint64_t>("the header");
  if (header.num_tensors > reader.remaining() / kMinTensorBytes ||
      header.num_pairs > reader.remaining() / kMinPairBytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}' says it has {} tensors and {} metadata keys, more than its {} bytes can hold; "
               "the file is truncated or damaged, download it again",
               reader.file(),
               header.num_tensors,
               header.num_pairs,
               bytes.size());
  }
  return header;
}

uint64_t ReadAlignment(const nlohmann::json& config, const std::string& file) {
  const auto found = config.find("general.alignment");
  if (found == config.end()) {
    return kDefaultAlignment;
  }
  const uint64_t alignment = found->is_number_integer() ? found->get<uint64_t>() : 0;
  if (!std::has_single_bit(alignment) || alignment < 8 || alignment > kMaxAlignment) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': key 'general.alignment' is {}, but must be a power of two from 8 to {}",
               file,
               found->dump(),
               kMaxAlignment);
  }
  return alignment;
}

void CheckIsWhole(const nlohmann::json& config, const std::string& file) {
  const auto count = config.find("split.count");
  if (count == config.end() || !count->is_number_integer() || count->get<int64_t>() <= 1) {
    return;
  }
  ThrowError(ErrorCode::kUnsupported,
             "'{}' is one of the {} parts of a split GGUF file; merge them into one first: "
             "llama-gguf-split --merge FIRST_PART OUTPUT",
             file,
             count->dump());
}

DType FindDType(uint32_t number, std::string_view tensor, const std::string& file) {
  for (const GgmlType& type : kGgmlTypes) {
    if (type.number == number && type.dtype.has_value()) {
      return *type.dtype;
    }
    if (type.number == number) {
      ThrowError(ErrorCode::kUnsupported,
                 "'{}': tensor '{}' has type {}, which is not supported; use a file with F32, F16, "
                 "BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL or IQ4_XS",
                 file,
                 PrintableName(tensor),
                 type.name);
    }
  }
  ThrowError(ErrorCode::kUnsupported,
             "'{}': tensor '{}' has the unknown ggml type {}; the file is damaged or newer than "
             "this program",
             file,
             PrintableName(tensor),
             number);
}

// A tensor's entry in the table, before its data are found.
struct TensorEntry {
  TensorView tensor;
  uint64_t offset = 0;  // from the start of the data
  uint64_t num_bytes = 0;
};

uint64_t CountBytes(const TensorView& tensor, const std::string& file) {
  uint64_t num_elements = 1;
  bool overflows = false;
  for (const int64_t extent : tensor.shape) {
    overflows |= extent < 0 ||
                 __builtin_mul_overflow(num_elements, static_cast<uint64_t>(extent), &num_elements);
  }
  uint64_t num_bytes = 0;
  const auto block_elements = static_cast<uint64_t>(BlockElements(tensor.dtype));
  overflows |= num_elements > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  overflows |= __builtin_mul_overflow(
      num_elements / block_elements, uint64_t{BlockBytes(tensor.dtype)}, &num_bytes);
  if (overflows) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor '{}' has the impossible shape {}",
               file,
               PrintableName(tensor.name),
               tensor.ShapeText());
  }
  const int64_t row_elements = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (static_cast<uint64_t>(row_elements) % block_elements != 0) {
    ThrowError(
        ErrorCode::kCorruptFile,
        "'{}': tensor '{}' of type {} has rows of {} elements, which must be a multiple of {}",
        file,
        PrintableName(tensor.name),
        DTypeName(tensor.dtype),
        row_elements,
        block_elements);
  }
  return num_bytes;
}

TensorEntry ReadTensorEntry(ByteReader& reader) {
  const std::string_view name = reader.ReadString("the tensor table");
  if (name.empty() || name.size() > kMaxTensorNameBytes) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': a tensor's name has {} bytes, but 1 to {} are allowed; the file is damaged",
               reader.file(),
               name.size(),
               kMaxTensorNameBytes);
  }
  const std::string what = "the table entry of tensor '" + PrintableName(name) + "'";
  const auto num_dimensions = reader.Read<uint32_t>(what);
  if (num_dimensions > kMaxDimensions) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor '{}' has {} dimensions, but at most {} are "
               "allowed; the file is damaged",
               reader.file(),
               PrintableName(name),
               num_dimensions,
               kMaxDimensions);
  }
  TensorEntry entry;
  entry.tensor.name = name;
  for (uint32_t i = 0; i < num_dimensions; ++i) {
    entry.tensor.shape.push_back(reader.Read<int64_t>(what));
  }
  // Files have the innermost dimension first.
  std::reverse(entry.tensor.shape.begin(), entry.tensor.shape.end());
  entry.tensor.dtype = FindDType(reader.Read<uint32_t>(what), name, reader.file());
  entry.offset = reader.Read<uint64_t>(what);
  entry.num_bytes = CountBytes(entry.tensor, reader.file());
  return entry;
}

std::vector<TensorEntry> ReadTensorTable(ByteReader& reader, uint64_t num_tensors) {
  std::vector<TensorEntry> entries;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < num_tensors; ++i) {
    entries.push_back(ReadTensorEntry(reader));
    const std::string& name = entries.back().tensor.name;
    if (!names.insert(name).second) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has tensor '{}' twice",
                 reader.file(),
                 PrintableName(name));
    }
  }
  return entries;
}

void CheckOverlaps(const std::vector<TensorEntry>& entries, const std::string& file) {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].num_bytes > 0) {
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return entries[a].offset < entries[b].offset;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorEntry& before = entries[order[i - 1]];
    const TensorEntry& after = entries[order[i]];
    if (before.offset + before.num_bytes > after.offset) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': the data of tensors '{}' and '{}' overlap; the file is damaged, download "
                 "it again",
                 file,
                 PrintableName(before.tensor.name),
                 PrintableName(after.tensor.name));
    }
  }
}

void FindData(std::span<const std::byte> data,
              uint64_t alignment,
              const std::string& file,
              std::vector<TensorEntry>& entries) {
  for (TensorEntry& entry : entries) {
    if (entry.offset % alignment != 0) {
      ThrowError(
          ErrorCode::kCorruptFile,
          "'{}': tensor '{}' starts at offset {}, which is not a multiple of the alignment {}",
          file,
          PrintableName(entry.tensor.name),
          entry.offset,
          alignment);
    }
    if (entry.num_bytes > data.size() || entry.offset > data.size() - entry.num_bytes) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': tensor '{}' {} of type {} needs {} bytes at offset {} of the data, which "
                 "end at {}; the file is truncated or damaged, download it again",
                 file,
                 PrintableName(entry.tensor.name),
                 entry.tensor.ShapeText(),
                 DTypeName(entry.tensor.dtype),
                 entry.num_bytes,
                 entry.offset,
                 data.size());
    }
    entry.tensor.bytes =
        data.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.num_bytes));
  }
}

}  // namespace

GgufContents ParseGguf(std::span<const std::byte> bytes, const std::string& file) {
  ByteReader reader(bytes, file);
  const GgufHeader header = ReadHeader(bytes, reader);
  GgufContents contents;
  ReadGgufMetadata(reader, header.num_pairs, contents);
  CheckIsWhole(contents.config, file);
  const uint64_t alignment = ReadAlignment(contents.config, file);
  std::vector<TensorEntry> entries = ReadTensorTable(reader, header.num_tensors);
  const uint64_t data_begin = (reader.position() + alignment - 1) / alignment * alignment;
  const auto data = bytes.subspan(std::min<size_t>(bytes.size(), data_begin));
  FindData(data, alignment, file, entries);
  CheckOverlaps(entries, file);
  contents.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    contents.tensors.push_back(std::move(entry.tensor));
  }
  return contents;
}

}  // namespace whinchat
