// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace whinchat {

// A row of the vocabulary. Every TokenId inside the program is in [0, vocab_size).
using TokenId = int32_t;

}  // namespace whinchat
