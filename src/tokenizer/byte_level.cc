// SPDX-License-Identifier: Apache-2.0
// Printable Latin-1 stands for itself; the other 68 bytes are U+0100 and up, in order.
#include "tokenizer/byte_level.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace whinchat {
namespace {

constexpr uint32_t kNumByteLevelCodePoints = 0x144;
constexpr uint16_t kNoByte = 0xFFFF;

constexpr bool IsPrintableLatin1(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<uint16_t, 256> MakeByteCodePoints() {
  std::array<uint16_t, 256> code_points{};
  uint16_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    code_points[byte] = IsPrintableLatin1(byte) ? static_cast<uint16_t>(byte) : next++;
  }
  return code_points;
}

constexpr std::array<uint16_t, 256> kByteCodePoints = MakeByteCodePoints();

constexpr std::array<uint16_t, kNumByteLevelCodePoints> MakeCodePointBytes() {
  std::array<uint16_t, kNumByteLevelCodePoints> bytes{};
  bytes.fill(kNoByte);
  for (uint16_t byte = 0; byte < 256; ++byte) {
    bytes[kByteCodePoints[byte]] = byte;
  }
  return bytes;
}

constexpr std::array<uint16_t, kNumByteLevelCodePoints> kCodePointBytes = MakeCodePointBytes();

}  // namespace

std::string EncodeByteLevel(std::string_view bytes) {
  std::string token;
  for (const char c : bytes) {
    AppendUtf8(kByteCodePoints[static_cast<uint8_t>(c)], token);
  }
  return token;
}

// A token with a character outside of the alphabet was never byte-level: it stands for itself.
std::string DecodeByteLevel(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (size_t i = 0; i < token.size();) {
    const Utf8Character character = DecodeUtf8Character(token.substr(i));
    const bool is_known = character.is_valid && character.code_point < kNumByteLevelCodePoints &&
                          kCodePointBytes[character.code_point] != kNoByte;
    if (!is_known) {
      return std::string(token);
    }
    bytes.push_back(static_cast<char>(kCodePointBytes[character.code_point]));
    i += static_cast<size_t>(character.num_bytes);
  }
  return bytes;
}

}  // namespace whinchat
