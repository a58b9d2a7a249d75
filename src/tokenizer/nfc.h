// SPDX-License-Identifier: Apache-2.0
// Unicode normal form C as Hugging Face `tokenizers` computes it (Unicode 9). Only the few
// characters around one that may change go through utf8proc; plain text is left untouched.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/char_class.h"

namespace whinchat {

// False if NFC surely leaves `text` (valid UTF-8) as it is.
bool MayNeedNfc(const CharClassTable& classes, std::string_view text);

// `text` (valid UTF-8) in normal form C.
std::string NormalizeNfc(const CharClassTable& classes, std::string_view text);

}  // namespace whinchat
