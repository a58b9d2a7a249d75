// SPDX-License-Identifier: Apache-2.0
// The key-value part of a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/byte_reader.h"
#include "checkpoint/gguf_parser.h"

namespace whinchat {

// Bytes of one value of a fixed size; 0 for strings and arrays. Throws for unknown types.
size_t GgufValueBytes(GgufValueType type);

// Reads `num_pairs` pairs into the config and the arrays of `contents`.
void ReadGgufMetadata(ByteReader& reader, uint64_t num_pairs, GgufContents& contents);

}  // namespace whinchat
