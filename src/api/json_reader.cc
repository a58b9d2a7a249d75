// SPDX-License-Identifier: Apache-2.0
#include "api/json_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/api_error.h"

namespace whinchat {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxDepth = 64;
constexpr int kMaxKeys = 512;

struct Place {
  size_t line = 1;
  size_t column = 1;
};

Place PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t last_newline = before.rfind('\n');
  Place place;
  place.line += static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  place.column +=
      last_newline == std::string_view::npos ? before.size() : before.size() - last_newline - 1;
  return place;
}

[[noreturn]] void ThrowInvalidJson(std::string_view text, size_t offset, std::string_view what) {
  const Place place = PlaceOf(text, offset);
  throw ApiError(
      ErrorCode::kInvalidArgument,
      MakeErrorReply(400,
                     fmt::format("The request body is not valid JSON: {} at line {}, column {}.",
                                 what,
                                 place.line,
                                 place.column),
                     "invalid_json"));
}

// One pass over the bytes before the parser allocates anything. Brackets inside strings don't
// count.
void CheckBounds(std::string_view text) {
  std::vector<int> num_keys;  // of each open bracket
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      i += c == '\\' ? 1 : 0;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      num_keys.push_back(0);
      if (num_keys.size() > kMaxDepth) {
        ThrowInvalidJson(text, i, fmt::format("more than {} levels of nesting", kMaxDepth));
      }
    } else if ((c == '}' || c == ']') && !num_keys.empty()) {
      num_keys.pop_back();
    } else if (c == ':' && !num_keys.empty() && ++num_keys.back() > kMaxKeys) {
      ThrowInvalidJson(text, i, fmt::format("more than {} keys in one object", kMaxKeys));
    }
  }
}

// nlohmann's text without its prefix "[json.exception.parse_error.101] parse error at ...: ".
std::string_view Reason(std::string_view what) {
  for (const std::string_view marker : {"syntax error ", "invalid string: ", "] "}) {
    const size_t at = what.find(marker);
    if (at != std::string_view::npos) {
      return what.substr(marker == "] " ? at + marker.size() : at);
    }
  }
  return what;
}

std::string_view TypeName(const ordered_json& value) {
  return value.is_number_integer() ? "integer" : value.type_name();
}

[[noreturn]] void ThrowWrongType(const std::string& path,
                                 std::string_view expected,
                                 const ordered_json& value) {
  ThrowFieldError(path, fmt::format("{}: expected {}, got {}.", path, expected, TypeName(value)));
}

}  // namespace

ordered_json ParseRequestJson(std::string_view text) {
  CheckBounds(text);
  try {
    return ordered_json::parse(text);
  } catch (const ordered_json::parse_error& error) {
    ThrowInvalidJson(text, error.byte == 0 ? 0 : error.byte - 1, Reason(error.what()));
  } catch (const ordered_json::exception& error) {
    ThrowInvalidJson(text, 0, Reason(error.what()));  // a number too large for a double
  }
}

std::string DumpJson(const ordered_json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}

FieldReader::FieldReader(const ordered_json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {
  if (!object.is_object()) {
    const std::string name =
        prefix_.empty() ? "The request body" : prefix_.substr(0, prefix_.size() - 1);
    ThrowFieldError(prefix_.empty() ? "" : name,
                    fmt::format("{}: expected an object, got {}.", name, TypeName(object)));
  }
}

const ordered_json* FieldReader::Find(std::string_view name) {
  known_.emplace(name);
  const auto it = object_.find(std::string(name));
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

std::optional<double> FieldReader::Number(std::string_view name, double min, double max) {
  const ordered_json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number()) {
    ThrowWrongType(Path(name), "a number", *value);
  }
  const auto number = value->get<double>();
  if (!(number >= min && number <= max)) {
    ThrowFieldError(
        Path(name),
        fmt::format("{}: must be between {} and {}, got {}.", Path(name), min, max, number));
  }
  return number;
}

std::optional<int64_t> FieldReader::Integer(std::string_view name, int64_t min, int64_t max) {
  const ordered_json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  // 16.0 is an integer too: some clients write every number as a float.
  const bool is_integral =
      value->is_number_integer() ||
      (value->is_number_float() && std::trunc(value->get<double>()) == value->get<double>());
  if (!is_integral) {
    ThrowWrongType(Path(name), "an integer", *value);
  }
  const auto number = value->get<double>();  // the exact value is only read within the range
  const bool is_unsigned_overflow =
      value->is_number_unsigned() &&
      value->get<uint64_t>() > static_cast<uint64_t>(std::max<int64_t>(max, 0));
  if (is_unsigned_overflow || number < static_cast<double>(min) ||
      number > static_cast<double>(max)) {
    ThrowFieldError(
        Path(name),
        fmt::format("{}: must be between {} and {}, got {}.", Path(name), min, max, value->dump()));
  }
  return value->is_number_float() && number >= 9.2e18 ? max : value->get<int64_t>();
}

std::optional<bool> FieldReader::Boolean(std::string_view name) {
  const ordered_json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_boolean()) {
    ThrowWrongType(Path(name), "true or false", *value);
  }
  return value->get<bool>();
}

std::optional<std::string> FieldReader::String(std::string_view name) {
  const ordered_json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    ThrowWrongType(Path(name), "a string", *value);
  }
  return value->get<std::string>();
}

std::vector<std::string> FieldReader::StringOrList(std::string_view name, size_t max_items) {
  const ordered_json* value = Find(name);
  if (value == nullptr) {
    return {};
  }
  if (value->is_string()) {
    return {value->get<std::string>()};
  }
  if (!value->is_array()) {
    ThrowWrongType(Path(name), "a string or a list of strings", *value);
  }
  if (value->size() > max_items) {
    ThrowFieldError(
        Path(name),
        fmt::format("{}: at most {} items, got {}.", Path(name), max_items, value->size()));
  }
  std::vector<std::string> items;
  for (const ordered_json& item : *value) {
    if (!item.is_string()) {
      ThrowWrongType(Path(name), "a list of strings", item);
    }
    items.push_back(item.get<std::string>());
  }
  return items;
}

const ordered_json* FieldReader::Array(std::string_view name) {
  const ordered_json* value = Find(name);
  if (value != nullptr && !value->is_array()) {
    ThrowWrongType(Path(name), "a list", *value);
  }
  return value;
}

const ordered_json* FieldReader::Object(std::string_view name) {
  const ordered_json* value = Find(name);
  if (value != nullptr && !value->is_object()) {
    ThrowWrongType(Path(name), "an object", *value);
  }
  return value;
}

std::vector<std::string> FieldReader::UnknownFields() const {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : object_.items()) {
    if (known_.find(name) == known_.end()) {
      unknown.push_back(prefix_ + name);
    }
  }
  return unknown;
}

}  // namespace whinchat
