// SPDX-License-Identifier: Apache-2.0
// How the keys and values of 32 tokens stand in one block of the paged KV cache. A block holds all
// layers, so a block is one contiguous piece for disk and for giving memory back.
//
//   block  [num_layers][num_kv_heads] heads
//   int8 head:  k_scales [32] f32 | v_scales [32] f32
//               k_codes  [head_dim/4][32 tokens][4] uint8, code + 128   (a lane is a token)
//               v_codes  [32/4][head_dim][4 tokens] int8                (a lane is a dimension)
//   f32 head:   k [32][head_dim] f32 | v [32][head_dim] f32             (the reference path)
//
// value = code * scale of its token. head_dim is a multiple of 16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace whinchat {

enum class KvDType : uint32_t { kInt8 = 0, kF32 = 1 };

inline constexpr int kKvBlockTokens = 32;
inline constexpr int kAttentionSpanTokens = 256;

struct KvLayout {
  KvDType dtype = KvDType::kInt8;
  int num_layers = 0;
  int num_kv_heads = 0;
  int head_dim = 0;

  // Byte offsets inside one head of an int8 block.
  size_t KScalesOffset() const { return 0; }
  size_t VScalesOffset() const { return sizeof(float) * kKvBlockTokens; }
  size_t KCodesOffset() const { return 2 * sizeof(float) * kKvBlockTokens; }
  size_t VCodesOffset() const { return KCodesOffset() + HeadElements(); }
  // Byte offset of V inside one head of an f32 block.
  size_t VFloatsOffset() const { return HeadElements() * sizeof(float); }

  size_t HeadElements() const { return static_cast<size_t>(head_dim) * kKvBlockTokens; }
  size_t HeadBytes() const {
    return dtype == KvDType::kInt8 ? KCodesOffset() + 2 * HeadElements()
                                   : 2 * HeadElements() * sizeof(float);
  }
  size_t HeadOffset(int layer_idx, int kv_head_idx) const {
    return static_cast<size_t>(layer_idx * num_kv_heads + kv_head_idx) * HeadBytes();
  }
  size_t BlockBytes() const { return HeadOffset(num_layers, 0); }
};

}  // namespace whinchat
