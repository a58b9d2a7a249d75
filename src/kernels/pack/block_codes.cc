// SPDX-License-Identifier: Apache-2.0
// One decoder for each block type of GGUF, after the layouts of ggml's format: little endian, no
// padding, so blocks may stand at any address.
#include "kernels/pack/block_codes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace whinchat::kernels {
namespace {

// The 16 levels of the non-linear types IQ4_NL and IQ4_XS.
constexpr std::array<int8_t, 16> kNonLinearLevels = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

float ReadFloat16(const uint8_t* bytes) {
  uint16_t half = 0;
  std::memcpy(&half, bytes, sizeof(half));
  return Float16ToFloat(half);
}

uint32_t ReadUint32(const uint8_t* bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// 16 bytes hold 32 codes: the low nibbles are the first 16.
void DecodeNibbles(const uint8_t* bytes, int offset, int8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = static_cast<int8_t>((bytes[i] & 0x0f) - offset);
    codes[i + 16] = static_cast<int8_t>((bytes[i] >> 4) - offset);
  }
}

void DecodeNonLinear(const uint8_t* bytes, int8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = kNonLinearLevels[bytes[i] & 0x0f];
    codes[i + 16] = kNonLinearLevels[bytes[i] >> 4];
  }
}

// As DecodeNibbles, with a plane of 32 fifth bits.
void DecodeFiveBits(const uint8_t* bytes, uint32_t high_bits, int offset, int8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    const int low_high = static_cast<int>((high_bits >> i) & 1) << 4;
    const int high_high = static_cast<int>((high_bits >> (i + 16)) & 1) << 4;
    codes[i] = static_cast<int8_t>(((bytes[i] & 0x0f) | low_high) - offset);
    codes[i + 16] = static_cast<int8_t>(((bytes[i] >> 4) | high_high) - offset);
  }
}

// d fp16 | 16 bytes of nibbles
void DecodeQ4_0(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  DecodeNibbles(block + 2, /*offset=*/8, decoded.codes.data());
}

// d fp16 | m fp16 | 16 bytes of nibbles
void DecodeQ4_1(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  decoded.mins[0] = ReadFloat16(block + 2);
  DecodeNibbles(block + 4, /*offset=*/0, decoded.codes.data());
}

// d fp16 | 32 fifth bits | 16 bytes of nibbles
void DecodeQ5_0(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  DecodeFiveBits(block + 6, ReadUint32(block + 2), /*offset=*/16, decoded.codes.data());
}

// d fp16 | m fp16 | 32 fifth bits | 16 bytes of nibbles
void DecodeQ5_1(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  decoded.mins[0] = ReadFloat16(block + 2);
  DecodeFiveBits(block + 8, ReadUint32(block + 4), /*offset=*/0, decoded.codes.data());
}

// d fp16 | 32 int8
void DecodeQ8_0(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  std::memcpy(decoded.codes.data(), block + 2, 32);
}

// 16 bytes (scale low nibble, min high nibble) | 64 bytes of 2-bit codes | d fp16 | dmin fp16
void DecodeQ2_K(const uint8_t* block, BlockCodes& decoded) {
  const float d = ReadFloat16(block + 80);
  const float dmin = ReadFloat16(block + 82);
  for (size_t group = 0; group < 16; ++group) {
    decoded.scales[group] = d * static_cast<float>(block[group] & 0x0f);
    decoded.mins[group] = -(dmin * static_cast<float>(block[group] >> 4));
  }
  const uint8_t* bytes = block + 16;
  int8_t* codes = decoded.codes.data();
  for (int plane = 0; plane < 8; ++plane, codes += 32) {
    const uint8_t* half = bytes + plane / 4 * 32;
    const int shift = plane % 4 * 2;
    for (int i = 0; i < 32; ++i) {
      codes[i] = static_cast<int8_t>((half[i] >> shift) & 3);
    }
  }
}

// 32 bytes of third bits | 64 bytes of 2-bit codes | 12 bytes: 16 scales of 6 bits | d fp16
void DecodeQ3_K(const uint8_t* block, BlockCodes& decoded) {
  const uint8_t* high_bits = block;
  const uint8_t* low_bits = block + 32;
  const uint8_t* scales = block + 96;
  const float d = ReadFloat16(block + 108);
  for (size_t group = 0; group < 16; ++group) {
    const int low = (scales[group % 8] >> (group / 8 * 4)) & 0x0f;
    const int high = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
    decoded.scales[group] = d * static_cast<float>((low | (high << 4)) - 32);
  }
  int8_t* codes = decoded.codes.data();
  for (int plane = 0; plane < 8; ++plane, codes += 32) {
    const uint8_t* half = low_bits + plane / 4 * 32;
    const int shift = plane % 4 * 2;
    for (int i = 0; i < 32; ++i) {
      const int high = ((high_bits[i] >> plane) & 1) * 4;  // a set bit means no offset
      codes[i] = static_cast<int8_t>(((half[i] >> shift) & 3) + high - 4);
    }
  }
}

// The 8 scales and 8 mins of 6 bits that Q4_K and Q5_K keep in 12 bytes.
void DecodeSubScales(const uint8_t* block, BlockCodes& decoded) {
  const float d = ReadFloat16(block);
  const float dmin = ReadFloat16(block + 2);
  const uint8_t* scales = block + 4;
  const uint8_t* mins = scales + 4;
  const uint8_t* both = scales + 8;
  for (size_t i = 0; i < 4; ++i) {
    const int high_scale = (both[i] & 0x0f) | ((scales[i] >> 2) & 0x30);
    const int high_min = (both[i] >> 4) | ((mins[i] >> 2) & 0x30);
    decoded.scales[i] = d * static_cast<float>(scales[i] & 0x3f);
    decoded.mins[i] = -(dmin * static_cast<float>(mins[i] & 0x3f));
    decoded.scales[i + 4] = d * static_cast<float>(high_scale);
    decoded.mins[i + 4] = -(dmin * static_cast<float>(high_min));
  }
}

// d fp16 | dmin fp16 | 12 bytes of sub-scales | 128 bytes of nibbles: 32 low, then 32 high
void DecodeQ4_K(const uint8_t* block, BlockCodes& decoded) {
  DecodeSubScales(block, decoded);
  const uint8_t* nibbles = block + 16;
  int8_t* codes = decoded.codes.data();
  for (int pair = 0; pair < 4; ++pair, nibbles += 32, codes += 64) {
    for (int i = 0; i < 32; ++i) {
      codes[i] = static_cast<int8_t>(nibbles[i] & 0x0f);
      codes[i + 32] = static_cast<int8_t>(nibbles[i] >> 4);
    }
  }
}

// d fp16 | dmin fp16 | 12 bytes of sub-scales | 32 bytes of fifth bits | 128 bytes of nibbles
void DecodeQ5_K(const uint8_t* block, BlockCodes& decoded) {
  DecodeSubScales(block, decoded);
  const uint8_t* high_bits = block + 16;
  const uint8_t* nibbles = block + 48;
  int8_t* codes = decoded.codes.data();
  for (int pair = 0; pair < 4; ++pair, nibbles += 32, codes += 64) {
    for (int i = 0; i < 32; ++i) {
      const int high = high_bits[i] >> (2 * pair);
      codes[i] = static_cast<int8_t>((nibbles[i] & 0x0f) | ((high & 1) << 4));
      codes[i + 32] = static_cast<int8_t>((nibbles[i] >> 4) | ((high & 2) << 3));
    }
  }
}

// 128 bytes of low nibbles | 64 bytes of high 2 bits | 16 int8 scales | d fp16
void DecodeQ6_K(const uint8_t* block, BlockCodes& decoded) {
  const float d = ReadFloat16(block + 208);
  for (size_t group = 0; group < 16; ++group) {
    const auto scale = static_cast<int8_t>(block[192 + group]);
    decoded.scales[group] = d * static_cast<float>(scale);
  }
  int8_t* codes = decoded.codes.data();
  for (int half = 0; half < 2; ++half, codes += 128) {
    const uint8_t* low = block + half * 64;
    const uint8_t* high = block + 128 + half * 32;
    for (int i = 0; i < 32; ++i) {
      const int bits = high[i];
      codes[i] = static_cast<int8_t>(((low[i] & 0x0f) | ((bits & 3) << 4)) - 32);
      codes[i + 32] = static_cast<int8_t>(((low[i + 32] & 0x0f) | ((bits & 12) << 2)) - 32);
      codes[i + 64] = static_cast<int8_t>(((low[i] >> 4) | (bits & 48)) - 32);
      codes[i + 96] = static_cast<int8_t>(((low[i + 32] >> 4) | ((bits & 192) >> 2)) - 32);
    }
  }
}

// d fp16 | 16 bytes of nibbles, each the index of a level
void DecodeIQ4_NL(const uint8_t* block, BlockCodes& decoded) {
  decoded.scales[0] = ReadFloat16(block);
  DecodeNonLinear(block + 2, decoded.codes.data());
}

// d fp16 | 8 x high 2 bits of the scales | 8 x low 4 bits | 128 bytes of nibbles
void DecodeIQ4_XS(const uint8_t* block, BlockCodes& decoded) {
  const float d = ReadFloat16(block);
  const int high_scales = block[2] | (block[3] << 8);
  for (int group = 0; group < 8; ++group) {
    const int low = (block[4 + group / 2] >> (group % 2 * 4)) & 0x0f;
    const int high = (high_scales >> (2 * group)) & 3;
    decoded.scales[static_cast<size_t>(group)] = d * static_cast<float>((low | (high << 4)) - 32);
    DecodeNonLinear(block + 8 + group * 16, decoded.codes.data() + group * 32);
  }
}

constexpr BlockFormat kQ4_0 = {32, false, DecodeQ4_0};
constexpr BlockFormat kQ4_1 = {32, true, DecodeQ4_1};
constexpr BlockFormat kQ5_0 = {32, false, DecodeQ5_0};
constexpr BlockFormat kQ5_1 = {32, true, DecodeQ5_1};
constexpr BlockFormat kQ8_0 = {32, false, DecodeQ8_0};
constexpr BlockFormat kQ2_K = {16, true, DecodeQ2_K};
constexpr BlockFormat kQ3_K = {16, false, DecodeQ3_K};
constexpr BlockFormat kQ4_K = {32, true, DecodeQ4_K};
constexpr BlockFormat kQ5_K = {32, true, DecodeQ5_K};
constexpr BlockFormat kQ6_K = {16, false, DecodeQ6_K};
constexpr BlockFormat kIQ4_NL = {32, false, DecodeIQ4_NL};
constexpr BlockFormat kIQ4_XS = {32, false, DecodeIQ4_XS};

}  // namespace

const BlockFormat* FindBlockFormat(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI8:
    case DType::kI32:
    case DType::kI64:
      return nullptr;
    case DType::kQ4_0:
      return &kQ4_0;
    case DType::kQ4_1:
      return &kQ4_1;
    case DType::kQ5_0:
      return &kQ5_0;
    case DType::kQ5_1:
      return &kQ5_1;
    case DType::kQ8_0:
      return &kQ8_0;
    case DType::kQ2_K:
      return &kQ2_K;
    case DType::kQ3_K:
      return &kQ3_K;
    case DType::kQ4_K:
      return &kQ4_K;
    case DType::kQ5_K:
      return &kQ5_K;
    case DType::kQ6_K:
      return &kQ6_K;
    case DType::kIQ4_NL:
      return &kIQ4_NL;
    case DType::kIQ4_XS:
      return &kIQ4_XS;
  }
  return nullptr;
}

}  // namespace whinchat::kernels
