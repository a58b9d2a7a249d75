// SPDX-License-Identifier: Apache-2.0
// GPT-2's byte-level alphabet: each byte as a printable character. Declared in tokenizer.h:
// DecodeByteLevel, its inverse.
#pragma once

#include <string>
#include <string_view>

namespace whinchat {

// `bytes` written in the byte-level alphabet.
std::string EncodeByteLevel(std::string_view bytes);

}  // namespace whinchat
