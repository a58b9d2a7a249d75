// SPDX-License-Identifier: Apache-2.0
// Cuts text into the words that BPE merges within: hand-written state machines that find what the
// models' regular expressions find, in one pass and without backtracking over a character twice.
#pragma once

#include <cstddef>
#include <string_view>

#include "tokenizer/char_class.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {

// Where the word that begins at `begin` (< text.size(), on a character) ends. `text` must be valid
// UTF-8. Each kind is the concatenation of the words it finds from 0 on.
template <PreTokenizerKind kind>
size_t FindWordEnd(const CharClassTable& classes, std::string_view text, size_t begin);

}  // namespace whinchat
