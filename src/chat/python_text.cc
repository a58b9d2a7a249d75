// SPDX-License-Identifier: Apache-2.0
#include "chat/python_text.h"

#include <array>

namespace whinchat {
namespace {

// Every character for which Python's str.isspace is true, as UTF-8.
constexpr std::array<std::string_view, 29> kSpaces = {
    "\t",           "\n",           "\v",           "\f",           "\r",
    "\x1c",         "\x1d",         "\x1e",         "\x1f",         " ",
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

bool RemoveLeadingSpace(std::string_view* text) {
  for (std::string_view space : kSpaces) {
    if (text->starts_with(space)) {
      text->remove_prefix(space.size());
      return true;
    }
  }
  return false;
}

bool RemoveTrailingSpace(std::string_view* text) {
  for (std::string_view space : kSpaces) {
    if (text->ends_with(space)) {
      text->remove_suffix(space.size());
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view StripLikePython(std::string_view text) {
  while (RemoveLeadingSpace(&text)) {
  }
  return RightStripLikePython(text);
}

std::string_view RightStripLikePython(std::string_view text) {
  while (RemoveTrailingSpace(&text)) {
  }
  return text;
}

}  // namespace whinchat
