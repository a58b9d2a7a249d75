// SPDX-License-Identifier: Apache-2.0
// Python's str.strip and str.rstrip on UTF-8, for code that must do as `transformers` does.
#pragma once

#include <string_view>

namespace whinchat {

std::string_view StripLikePython(std::string_view text);
std::string_view RightStripLikePython(std::string_view text);

}  // namespace whinchat
