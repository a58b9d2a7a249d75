// SPDX-License-Identifier: Apache-2.0
// Reads a request's JSON strictly: bounded nesting and size, errors with their place, and fields
// whose type and range are checked with the field's name in the message.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace whinchat {

// At most 64 levels and 512 keys in one object: ordered_json looks keys up one by one, so a
// request with a million keys would keep a thread busy for minutes.
// Throws ApiError 400 with line and column for invalid JSON, for invalid UTF-8 too.
nlohmann::ordered_json ParseRequestJson(std::string_view text);

// Compact text; bytes that are no UTF-8 become U+FFFD.
std::string DumpJson(const nlohmann::ordered_json& json);

// The fields of one JSON object. A null counts as absent, as clients send null for "default".
class FieldReader {
 public:
  // `prefix` names the object in messages, with its dot: "stream_options.". The object must
  // outlive this. Throws ApiError if it is no object.
  explicit FieldReader(const nlohmann::ordered_json& object, std::string prefix = {});

  // Each throws ApiError{param = prefix + name} on another type or out of range (both inclusive).
  std::optional<double> Number(std::string_view name, double min, double max);
  std::optional<int64_t> Integer(std::string_view name, int64_t min, int64_t max);
  std::optional<bool> Boolean(std::string_view name);
  std::optional<std::string> String(std::string_view name);
  // A string or a list of at most `max_items` strings.
  std::vector<std::string> StringOrList(std::string_view name, size_t max_items);

  // Any type; null pointer if absent.
  const nlohmann::ordered_json* Find(std::string_view name);
  const nlohmann::ordered_json* Array(std::string_view name);
  const nlohmann::ordered_json* Object(std::string_view name);

  std::string Path(std::string_view name) const { return prefix_ + std::string(name); }
  // The field is accepted and has no effect here.
  void Ignore(std::string_view name) { known_.emplace(name); }
  // Names present that nobody asked for.
  std::vector<std::string> UnknownFields() const;

 private:
  const nlohmann::ordered_json& object_;
  std::string prefix_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace whinchat
