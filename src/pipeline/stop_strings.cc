// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace whinchat {

StopStringMatcher::StopStringMatcher(std::vector<std::string> stop, bool include_stop_str_in_output)
    : stop_(std::move(stop)), include_stop_str_in_output_(include_stop_str_in_output) {
  for (const std::string& text : stop_) {
    if (text.empty()) {
      ThrowError(ErrorCode::kInvalidArgument, "stop must not contain an empty string");
    }
  }
}

std::string StopStringMatcher::Append(std::string_view text) {
  if (matched_) {
    return {};
  }
  held_ += text;
  size_t first_end = std::string::npos;
  for (const std::string& stop : stop_) {
    const size_t begin = held_.find(stop);
    if (begin == std::string::npos) {
      continue;
    }
    const size_t end = begin + stop.size();
    if (end < first_end || (end == first_end && stop.size() > matched_->size())) {
      first_end = end;
      matched_ = stop;
    }
  }
  if (matched_) {
    held_.resize(include_stop_str_in_output_ ? first_end : first_end - matched_->size());
    return std::exchange(held_, {});
  }
  const size_t certain = held_.size() - HeldBackSize();
  std::string output = held_.substr(0, certain);
  held_.erase(0, certain);
  return output;
}

std::string StopStringMatcher::Flush() {
  return std::exchange(held_, {});
}

size_t StopStringMatcher::HeldBackSize() const {
  size_t longest = 0;
  for (const std::string& stop : stop_) {
    for (size_t size = std::min(held_.size(), stop.size() - 1); size > longest; --size) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, size))) {
        longest = size;
      }
    }
  }
  return longest;
}

}  // namespace whinchat
