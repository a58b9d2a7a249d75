// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_header.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/foreign_bytes.h"
#include "checkpoint/json_text.h"

namespace whinchat {
namespace {

using nlohmann::json;

constexpr size_t kMaxDimensions = 8;

// Where in the header the parser is. kTop is inside the outer object.
enum class Place { kStart, kTop, kEntry, kShape, kOffsets, kMetadata, kEnd };

class HeaderHandler : public json::json_sax_t {
 public:
  explicit HeaderHandler(const std::string& file) : file_(file) {}

  std::vector<SafetensorsEntry> TakeEntries() { return std::move(entries_); }

  bool start_object(size_t /*num_elements*/) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == "__metadata__") {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      entries_.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}});
      seen_.clear();
      place_ = Place::kEntry;
    } else {
      Fail("an object stands where a value was expected");
    }
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::kTop && !names_.insert(key).second) {
      ThrowError(ErrorCode::kCorruptFile, "'{}' has tensor '{}' twice", file_, PrintableName(key));
    }
    if (place_ == Place::kEntry && key != "dtype" && key != "shape" && key != "data_offsets") {
      Fail("has the unknown key '" + PrintableName(key) + "'");
    }
    if (place_ == Place::kEntry && !seen_.insert(key).second) {
      Fail("has the key '" + key + "' twice");
    }
    key_ = std::move(key);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      CheckEntry();
      place_ = Place::kTop;
    } else {
      place_ = place_ == Place::kMetadata ? Place::kTop : Place::kEnd;
    }
    return true;
  }

  bool start_array(size_t /*num_elements*/) override {
    if (place_ == Place::kEntry && key_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kEntry && key_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      Fail("a list stands where a value was expected");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kEntry;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape && entries_.back().shape.size() < kMaxDimensions &&
        value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      entries_.back().shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::kOffsets && entries_.back().offsets.size() < 2) {
      entries_.back().offsets.push_back(value);
    } else {
      Fail(place_ == Place::kShape ? "has an impossible shape" : "has an unexpected number");
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kEntry && key_ == "dtype") {
      entries_.back().dtype = std::move(value);
    } else if (place_ != Place::kMetadata) {
      Fail("has an unexpected string");
    }
    return true;
  }

  bool number_integer(int64_t /*value*/) override { return RefuseValue("a negative number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return RefuseValue("a fraction");
  }
  bool boolean(bool /*value*/) override { return RefuseValue("a bool"); }
  bool null() override { return RefuseValue("a null"); }
  bool binary(json::binary_t& /*value*/) override { return RefuseValue("bytes"); }

  bool parse_error(size_t /*position*/,
                   const std::string& /*token*/,
                   const json::exception& error) override {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the safetensors header is not valid JSON: {}; the file is damaged, download "
               "it again",
               file_,
               JsonErrorText(error));
  }

 private:
  bool RefuseValue(const char* what) { Fail(std::string("has ") + what + " where none belongs"); }

  [[noreturn]] void Fail(const std::string& fault) const {
    if (place_ == Place::kStart || place_ == Place::kTop || place_ == Place::kMetadata) {
      ThrowError(ErrorCode::kCorruptFile,
                 "'{}': the safetensors header is wrong at '{}': {}; the file is damaged",
                 file_,
                 PrintableName(key_),
                 fault);
    }
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': the safetensors header's entry of tensor '{}' {}; the file is damaged",
               file_,
               PrintableName(entries_.back().name),
               fault);
  }

  void CheckEntry() const {
    const SafetensorsEntry& entry = entries_.back();
    if (seen_.size() != 3 || entry.dtype.empty() || entry.offsets.size() != 2) {
      Fail("must have a dtype, a shape and two data_offsets");
    }
  }

  const std::string& file_;
  Place place_ = Place::kStart;
  std::string key_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> seen_;  // keys of the entry being read
};

}  // namespace

std::vector<SafetensorsEntry> ReadSafetensorsHeader(std::string_view header,
                                                    const std::string& file) {
  HeaderHandler handler(file);
  json::sax_parse(header, &handler);
  return handler.TakeEntries();
}

}  // namespace whinchat
