// SPDX-License-Identifier: Apache-2.0
// Reads GGUF's metadata in one pass. An array is first walked to its end, which checks every length
// in it, and only then, if it is small, turned into JSON: the vocabulary stays where it is.
#include "checkpoint/gguf_metadata.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/foreign_bytes.h"

namespace whinchat {
namespace {

using nlohmann::json;

constexpr size_t kMaxKeyBytes = 65535;  // GGUF's own limit
constexpr int kMaxArrayDepth = 8;

// The values of one key, for messages "value of '<key>'".
class ValueReader {
 public:
  ValueReader(ByteReader& reader, std::string_view key)
      : reader_(reader), what_("the value of key '" + PrintableName(key) + "'") {}

  GgufValueType ReadType() {
    const auto number = reader_.Read<uint32_t>(what_);
    if (number > static_cast<uint32_t>(GgufValueType::kFloat64)) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': {} has the unknown type {}; GGUF knows 0 to 12, so the file is damaged or "
                 "newer than this program",
                 reader_.file(),
                 what_,
                 number);
    }
    return static_cast<GgufValueType>(number);
  }

  json ReadScalar(GgufValueType type) {
    switch (type) {
      case GgufValueType::kUint8:
        return reader_.Read<uint8_t>(what_);
      case GgufValueType::kInt8:
        return reader_.Read<int8_t>(what_);
      case GgufValueType::kUint16:
        return reader_.Read<uint16_t>(what_);
      case GgufValueType::kInt16:
        return reader_.Read<int16_t>(what_);
      case GgufValueType::kUint32:
        return reader_.Read<uint32_t>(what_);
      case GgufValueType::kInt32:
        return reader_.Read<int32_t>(what_);
      case GgufValueType::kFloat32:
        return reader_.Read<float>(what_);
      case GgufValueType::kBool:
        return ReadBool();
      case GgufValueType::kString:
        return ReplaceInvalidUtf8(reader_.ReadString(what_));  // JSON holds UTF-8 only
      case GgufValueType::kUint64:
        return reader_.Read<uint64_t>(what_);
      case GgufValueType::kInt64:
        return reader_.Read<int64_t>(what_);
      case GgufValueType::kFloat64:
        return reader_.Read<double>(what_);
      case GgufValueType::kArray:
        break;
    }
    return nullptr;
  }

  struct ArrayHead {
    GgufValueType element_type;
    uint64_t num_elements;
  };

  ArrayHead ReadArrayHead() {
    const GgufValueType element_type = ReadType();
    return {element_type, reader_.Read<uint64_t>(what_)};
  }

  // Walks over an array's elements and checks them; returns how many there are, nested ones
  // included.
  uint64_t SkipElements(const ArrayHead& head, int depth) {
    if (const size_t element_bytes = GgufValueBytes(head.element_type); element_bytes > 0) {
      // A count that overflows the product is more than any file holds.
      const uint64_t num_bytes = head.num_elements > reader_.remaining()
                                     ? head.num_elements
                                     : head.num_elements * element_bytes;
      reader_.ReadBytes(num_bytes, what_);
      return head.num_elements;
    }
    if (depth >= kMaxArrayDepth) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': {} has arrays nested deeper than {}",
                 reader_.file(),
                 what_,
                 kMaxArrayDepth);
    }
    uint64_t num_elements = head.num_elements;
    for (uint64_t i = 0; i < head.num_elements; ++i) {
      if (head.element_type == GgufValueType::kString) {
        reader_.ReadString(what_);
      } else {
        num_elements += SkipElements(ReadArrayHead(), depth + 1);
      }
    }
    return num_elements;
  }

  // Precondition: the array was walked before, so depth and size are known to be small.
  json ReadElements(const ArrayHead& head) {
    json elements = json::array();
    for (uint64_t i = 0; i < head.num_elements; ++i) {
      elements.push_back(head.element_type == GgufValueType::kArray
                             ? ReadElements(ReadArrayHead())
                             : ReadScalar(head.element_type));
    }
    return elements;
  }

 private:
  bool ReadBool() {
    const auto value = reader_.Read<uint8_t>(what_);
    if (value > 1) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': {} is a bool of {}, which must be 0 or 1",
                 reader_.file(),
                 what_,
                 value);
    }
    return value == 1;
  }

  ByteReader& reader_;
  const std::string what_;
};

void ReadArray(ByteReader& reader, std::string_view key, GgufContents& contents) {
  ValueReader values(reader, key);
  const ValueReader::ArrayHead head = values.ReadArrayHead();
  const size_t begin = reader.position();
  const uint64_t num_elements = values.SkipElements(head, 0);
  const size_t end = reader.position();
  reader.Rewind(begin);
  if (num_elements <= kMaxConfigArrayElements) {
    contents.config[std::string(key)] = values.ReadElements(head);
    reader.Rewind(begin);
  }
  contents.arrays.push_back(
      {key, head.element_type, head.num_elements, reader.ReadBytes(end - begin, key)});
}

}  // namespace

size_t GgufValueBytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
      return 8;
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return 0;
  }
  return 0;
}

void ReadGgufMetadata(ByteReader& reader, uint64_t num_pairs, GgufContents& contents) {
  contents.config = json::object();
  std::unordered_set<std::string_view> keys;
  for (uint64_t i = 0; i < num_pairs; ++i) {
    const std::string_view key = reader.ReadString("a metadata key");
    if (key.empty() || key.size() > kMaxKeyBytes) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': metadata key {} has {} bytes, but 1 to {} are allowed; the file is damaged",
                 reader.file(),
                 i,
                 key.size(),
                 kMaxKeyBytes);
    }
    if (!IsValidUtf8(key)) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': metadata key {} ('{}') is not UTF-8; the file is damaged",
                 reader.file(),
                 i,
                 PrintableName(key));
    }
    if (!keys.insert(key).second) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}' has the metadata key '{}' twice",
                 reader.file(),
                 PrintableName(key));
    }
    ValueReader values(reader, key);
    const GgufValueType type = values.ReadType();
    if (type == GgufValueType::kArray) {
      ReadArray(reader, key, contents);
    } else {
      contents.config[std::string(key)] = values.ReadScalar(type);
    }
  }
}

}  // namespace whinchat
