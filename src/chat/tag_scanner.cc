// SPDX-License-Identifier: Apache-2.0
#include "chat/tag_scanner.h"

#include <algorithm>

namespace whinchat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

size_t PartialTagSize(std::string_view text, std::string_view tag) {
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.ends_with(tag.substr(0, size))) {
      return size;
    }
  }
  return 0;
}

std::string_view TrimLeft(std::string_view text) {
  const size_t start = text.find_first_not_of(kSpace);
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

std::string_view TrimRight(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

}  // namespace whinchat
