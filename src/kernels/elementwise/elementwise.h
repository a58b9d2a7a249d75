// SPDX-License-Identifier: Apache-2.0
// Everything between the matrix products. Written once over a vector of 16 fp32 lanes and compiled
// for each ISA; sums over an array always run in 16 virtual lanes (lane = index mod 16, fma in
// index order) and are then added by halves (8+8, 4+4, 2+2, 1+1), so every ISA gives the same bits.
// Division and square root are IEEE; no reciprocal approximations; rounding is to nearest even.
// Lengths are multiples of 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_features.h"

namespace whinchat::kernels {

// Where quantize_row writes.
struct QuantizedRow {
  int8_t* codes = nullptr;        // [k]
  float* scales = nullptr;        // [ceil(k / block)]
  int32_t* sums = nullptr;        // [k / 32] sum of the codes of each group of 32
  int32_t* block_sums = nullptr;  // [ceil(k / block)] the same of each block; may be `sums` if
                                  // blocks are groups
};

struct ElementwiseKernels {
  // out = x / sqrt(mean(x^2) + eps) * gain, as (x * (1 / sqrt)) * gain. `out` may be `x`.
  void (*rms_norm)(const float* x, const float* gain, float eps, int n, float* out);

  // Blocks of `block` values, the last one as short as k leaves it: scale = max|x| / 127, code =
  // round(x / scale); a block of zeros has scale 0. k and block are multiples of 32. x / scale is
  // x * (127 / max), kept in [-127, 127]; a maximum below 2^-100, whose reciprocal could overflow,
  // counts as zero.
  void (*quantize_row)(const float* x, int k, int block, const QuantizedRow& out);

  // x += y.
  void (*add)(float* x, const float* y, int n);

  // out = silu(gate) * up, silu(x) = x / (1 + exp(-x)). `out` may be `gate`.
  void (*silu_mul)(const float* gate, const float* up, int n, float* out);

  // Rotates one head in place, halves layout (Hugging Face's rotate_half): for i < rotary_dim/2
  //   x[i]      = x[i] * cos[i] - x[i + d] * sin[i]
  //   x[i + d]  = x[i + d] * cos[i] + x[i] * sin[i]      with d = rotary_dim/2.
  // rotary_dim/2 is a multiple of 8.
  void (*rope)(float* x, const float* cos, const float* sin, int rotary_dim);

  // Stores one token's key and value of one KV head into its block (tensor/kv_layout.h).
  // One scale per token and head: max|x| / 127. `token_slot` in [0, 32). `head`: its start.
  void (*write_kv_int8)(
      const float* k, const float* v, int head_dim, int token_slot, std::byte* head);
  void (*write_kv_f32)(
      const float* k, const float* v, int head_dim, int token_slot, std::byte* head);

  // Quantizes one query head for attention_span_int8: codes int8, *scale includes softmax_scale.
  void (*quantize_query)(
      const float* q, int head_dim, float softmax_scale, int8_t* codes, float* scale, int32_t* sum);

  // The index of the greatest element, the lowest index among equals. NaN never wins. Any n >= 1.
  int (*argmax)(const float* x, int n);
};

// exp(x) as every ISA computes it: Cody-Waite reduction and a degree-6 polynomial in fma form,
// within 2 ulp in [-87.3, 88.7], 0 below, +inf above, NaN for NaN.
float ExpScalar(float x);

// The kernels of one ISA; what an ISA lacks is the next lower one's. Defined in elementwise.cc.
ElementwiseKernels MakeElementwiseKernels(Isa isa);

}  // namespace whinchat::kernels
