// SPDX-License-Identifier: Apache-2.0
// What the pre-tokenizers, added tokens and NFC must know of each code point, exactly as Hugging
// Face `tokenizers` sees it. The ranges are generated (python/golden/make_char_classes.py) and
// expanded once into a table of two levels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whinchat {

enum class CharClass : uint8_t {
  kOther,
  kLetter,   // \p{L}
  kNumber,   // \p{N}
  kSpace,    // \s but CR and LF
  kNewline,  // CR and LF
  kEnd,      // no character: the text ends
};

// The class in the low bits, and these.
enum CharFlags : uint8_t {
  kCharClassMask = 0x07,
  kIsNumeric = 0x08,     // splits digits in the SmolLM pre-tokenizer
  kIsWord = 0x10,        // \w, for added tokens that must be single words
  kNeedsNfc = 0x20,      // NFC may change it, move it or merge it backward
  kNewerThanNfc = 0x40,  // not in Unicode 9, the version of the reference's NFC: left as it is
};

inline constexpr size_t kNumCharClassRanges = 2544;
extern const std::array<uint32_t, kNumCharClassRanges> kCharClassRanges;

class CharClassTable {
 public:
  // The one table of the process. Any thread may use it.
  static const CharClassTable& Get();

  uint8_t FlagsOf(char32_t code_point) const {
    return blocks_[(size_t{index_[code_point >> kBlockBits]} << kBlockBits) |
                   (code_point & (kBlockSize - 1))];
  }

 private:
  static constexpr uint32_t kBlockBits = 7;
  static constexpr uint32_t kBlockSize = 1U << kBlockBits;
  static constexpr uint32_t kNumCodePoints = 0x110000;

  CharClassTable();

  std::array<uint16_t, kNumCodePoints / kBlockSize> index_;
  std::vector<uint8_t> blocks_;  // [num_blocks, kBlockSize]; uniform blocks are shared
};

}  // namespace whinchat
