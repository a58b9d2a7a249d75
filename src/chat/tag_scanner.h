// SPDX-License-Identifier: Apache-2.0
// What the streaming parsers share: text that comes in pieces, cut anywhere, with tags in it.
#pragma once

#include <cstddef>
#include <string_view>

namespace whinchat {

// How many bytes at the end of `text` may be the start of `tag`: less than the whole tag.
size_t PartialTagSize(std::string_view text, std::string_view tag);

// `text` without the white space (ASCII) at its start; at its end.
std::string_view TrimLeft(std::string_view text);
std::string_view TrimRight(std::string_view text);

}  // namespace whinchat
