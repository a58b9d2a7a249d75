// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/byte_reader.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/file_stamp.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/gguf_parser.h"
#include "tensor/tensor_view.h"

namespace whinchat {
namespace {

class MappedGguf : public GgufCheckpoint {
 public:
  // The stamp is taken before mapping: a file replaced in between gets the older stamp, which then
  // differs from the file's at the next start.
  explicit MappedGguf(const std::filesystem::path& path)
      : stamp_(FileStamp(path)),
        file_(path),
        file_name_(path.string()),
        contents_(ParseGguf(file_.bytes(), file_name_)) {}

  CheckpointFormat format() const override { return CheckpointFormat::kGguf; }
  const std::filesystem::path& path() const override { return file_.path(); }
  const std::vector<TensorView>& tensors() const override { return contents_.tensors; }
  const nlohmann::json& config() const override { return contents_.config; }
  std::optional<std::string> ReadSideFile(std::string_view /*file_name*/) const override {
    return std::nullopt;
  }
  std::string Fingerprint() const override { return "gguf:" + stamp_; }

  std::vector<std::string_view> StringArray(std::string_view key) const override;
  std::vector<int32_t> IntArray(std::string_view key) const override;
  std::vector<float> FloatArray(std::string_view key) const override;

 private:
  const GgufArray* FindArray(std::string_view key) const;

  std::string stamp_;
  MappedFile file_;
  std::string file_name_;
  GgufContents contents_;
};

template <typename T>
T ReadElement(const GgufArray& array, size_t idx) {
  T element;
  std::memcpy(&element, array.bytes.data() + idx * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
std::vector<int32_t> ReadIntegers(const GgufArray& array, const std::string& file) {
  std::vector<int32_t> values(static_cast<size_t>(array.num_elements));
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = ReadElement<T>(array, i);
    if (!std::in_range<int32_t>(element)) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': element {} of the array '{}' is {}, which is out of the range of int32",
                 file,
                 i,
                 PrintableName(array.key),
                 element);
    }
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number here, not a character.
    values[i] = static_cast<int32_t>(element);
  }
  return values;
}

template <typename T>
std::vector<float> ReadFloats(const GgufArray& array) {
  std::vector<float> values(static_cast<size_t>(array.num_elements));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(ReadElement<T>(array, i));
  }
  return values;
}

const GgufArray* MappedGguf::FindArray(std::string_view key) const {
  for (const GgufArray& array : contents_.arrays) {
    if (array.key == key) {
      return &array;
    }
  }
  return nullptr;
}

std::vector<std::string_view> MappedGguf::StringArray(std::string_view key) const {
  const GgufArray* array = FindArray(key);
  std::vector<std::string_view> strings;
  if (array == nullptr || array->element_type != GgufValueType::kString) {
    return strings;
  }
  ByteReader reader(array->bytes, file_name_);
  strings.reserve(static_cast<size_t>(array->num_elements));
  for (uint64_t i = 0; i < array->num_elements; ++i) {
    strings.push_back(reader.ReadString(key));
  }
  return strings;
}

std::vector<int32_t> MappedGguf::IntArray(std::string_view key) const {
  const GgufArray* array = FindArray(key);
  if (array == nullptr) {
    return {};
  }
  switch (array->element_type) {
    case GgufValueType::kUint8:
      return ReadIntegers<uint8_t>(*array, file_name_);
    case GgufValueType::kInt8:
      return ReadIntegers<int8_t>(*array, file_name_);
    case GgufValueType::kUint16:
      return ReadIntegers<uint16_t>(*array, file_name_);
    case GgufValueType::kInt16:
      return ReadIntegers<int16_t>(*array, file_name_);
    case GgufValueType::kUint32:
      return ReadIntegers<uint32_t>(*array, file_name_);
    case GgufValueType::kInt32:
      return ReadIntegers<int32_t>(*array, file_name_);
    case GgufValueType::kUint64:
      return ReadIntegers<uint64_t>(*array, file_name_);
    case GgufValueType::kInt64:
      return ReadIntegers<int64_t>(*array, file_name_);
    case GgufValueType::kFloat32:
    case GgufValueType::kFloat64:
    case GgufValueType::kBool:
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return {};
  }
  return {};
}

std::vector<float> MappedGguf::FloatArray(std::string_view key) const {
  const GgufArray* array = FindArray(key);
  if (array != nullptr && array->element_type == GgufValueType::kFloat32) {
    return ReadFloats<float>(*array);
  }
  if (array != nullptr && array->element_type == GgufValueType::kFloat64) {
    return ReadFloats<double>(*array);
  }
  return {};
}

}  // namespace

std::unique_ptr<GgufCheckpoint> OpenGguf(const std::filesystem::path& path) {
  return std::make_unique<MappedGguf>(path);
}

}  // namespace whinchat
