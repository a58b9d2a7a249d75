// SPDX-License-Identifier: Apache-2.0
// The elementwise functions, written once over a vector of 16 fp32 lanes (`V`: Vec16Scalar,
// Vec16Avx2, ...). Each elementwise_<isa>.cc instantiates them for its own vector. All is in an
// unnamed namespace: code compiled for one ISA must never be merged with another's by the linker.
//
// Measured 2026-12-01, Xeon 2.6 GHz, one thread, operands in the caches, GB/s read and written:
//                  rms_norm 1024  quantize_row 3072  silu_mul 3072  write_kv 128  argmax 151,936
//   avx2                     135                 15             33            13             104
//   avx512vnni               117                 17             40            24             100
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/elementwise/elementwise.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

inline constexpr int kLanes = 16;
inline constexpr int kQuantGroup = 32;
inline constexpr int kMaxHeadDim = 256;

// 1.5 * 2^23: adding it rounds |x| < 2^22 to the nearest even whole number in the low mantissa
// bits.
inline constexpr float kRoundingShift = 12582912.0F;

template <class V>
V RoundToNearest(V x) {
  const V shift = V::Broadcast(kRoundingShift);
  return (x + shift) - shift;
}

// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. ln 2 is split so that n * kLn2High
// is exact. The polynomial 1 + r + c2 r^2 + ... + c6 r^6 is minimax for the relative error (3.1e-9
// before rounding). In [kExpLowest, kExpHighest] the result is a normal number, so 2^n is an
// addition to the exponent field.
inline constexpr float kExpLowest = -87.3F;
inline constexpr float kExpHighest = 88.7F;

// exp(x) for x <= kExpHighest. A NaN stays one if its payload's low bits are zero, as those of
// arithmetic are.
template <class V>
V ExpNonPositive(V x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  const V one = V::Broadcast(1.0F);
  const V shift = V::Broadcast(kRoundingShift);
  const V shifted = V::Fma(x, V::Broadcast(kLog2E), shift);
  const V n = shifted - shift;
  V r = V::Fma(n, V::Broadcast(-kLn2High), x);
  r = V::Fma(n, V::Broadcast(-kLn2Low), r);
  V p = V::Broadcast(1.38141418472e-3F);
  p = V::Fma(p, r, V::Broadcast(8.36893744426e-3F));
  p = V::Fma(p, r, V::Broadcast(4.16684094974e-2F));
  p = V::Fma(p, r, V::Broadcast(0.166665188089F));
  p = V::Fma(p, r, V::Broadcast(0.499999933247F));
  p = V::Fma(p, r, one);
  p = V::Fma(p, r, one);
  return V::AddExponentOrZero(p, shifted, x, V::Broadcast(kExpLowest));
}

template <class V>
V Exp(V x) {
  const V infinity = V::Broadcast(__builtin_inff());
  const V result = V::SelectLess(V::Broadcast(kExpHighest), x, infinity, ExpNonPositive(x));
  return V::KeepNan(x, result);
}

template <class V>
void RmsNorm(const float* x, const float* gain, float eps, int n, float* out) {
  V squares = V::Broadcast(0.0F);
  for (int i = 0; i < n; i += kLanes) {
    const V v = V::Load(x + i);
    squares = V::Fma(v, v, squares);
  }
  const float mean = squares.SumByHalves() / static_cast<float>(n);
  const V inverse = V::Broadcast(1.0F / __builtin_sqrtf(mean + eps));
  for (int i = 0; i < n; i += kLanes) {
    (V::Load(x + i) * inverse * V::Load(gain + i)).Store(out + i);
  }
}

// codes = round(x * (limit / max|x|)); returns max|x|. Where the greatest is below kLeastMax (its
// reciprocal would overflow) all codes and the returned maximum are zero.
inline constexpr float kLeastMax = 0x1p-100F;

template <class V>
float MaxAbs(const float* x, int n) {
  V max = V::Broadcast(0.0F);
  for (int i = 0; i < n; i += kLanes) {
    max = V::Max(V::Load(x + i).Abs(), max);
  }
  const float max_abs = max.MaxOfLanes();
  return max_abs < kLeastMax ? 0.0F : max_abs;
}

// Whole numbers in [-127, 127], NaN as -127.
template <class V>
V RoundToCodes(V x, V inverse_scale) {
  const V limit = V::Broadcast(127.0F);
  const V lowest = V::Broadcast(-127.0F);
  return RoundToNearest(V::Min(V::Max(x * inverse_scale, lowest), limit));
}

template <class V>
void QuantizeRow(const float* x, int k, int block, const QuantizedRow& out) {
  int block_idx = 0;
  for (int begin = 0; begin < k; begin += block, ++block_idx) {
    const int end = k - begin < block ? k : begin + block;
    const float max_abs = MaxAbs<V>(x + begin, end - begin);
    const V inverse = V::Broadcast(max_abs == 0.0F ? 0.0F : 127.0F / max_abs);
    int32_t block_sum = 0;
    for (int i = begin; i < end; i += kQuantGroup) {
      const V low = RoundToCodes(V::Load(x + i), inverse);
      const V high = RoundToCodes(V::Load(x + i + kLanes), inverse);
      low.StoreInt8(out.codes + i);
      high.StoreInt8(out.codes + i + kLanes);
      // Sums of small whole numbers are exact in fp32.
      const auto sum = static_cast<int32_t>((low + high).SumByHalves());
      out.sums[i / kQuantGroup] = sum;
      block_sum += sum;
    }
    out.scales[block_idx] = max_abs / 127.0F;
    out.block_sums[block_idx] = block_sum;
  }
}

// One scale for all of x; returns it. `sum` gets the sum of the codes.
template <class V>
float QuantizeHead(const float* x, int head_dim, int8_t* codes, int32_t* sum) {
  const float max_abs = MaxAbs<V>(x, head_dim);
  const V inverse = V::Broadcast(max_abs == 0.0F ? 0.0F : 127.0F / max_abs);
  V total = V::Broadcast(0.0F);
  for (int i = 0; i < head_dim; i += kLanes) {
    const V rounded = RoundToCodes(V::Load(x + i), inverse);
    rounded.StoreInt8(codes + i);
    total = total + rounded;
  }
  *sum = static_cast<int32_t>(total.SumByHalves());
  return max_abs / 127.0F;
}

template <class V>
void QuantizeQuery(
    const float* q, int head_dim, float softmax_scale, int8_t* codes, float* scale, int32_t* sum) {
  *scale = QuantizeHead<V>(q, head_dim, codes, sum) * softmax_scale;
}

template <class V>
void WriteKvInt8(const float* k, const float* v, int head_dim, int token_slot, std::byte* head) {
  const KvLayout layout = {.dtype = KvDType::kInt8, .head_dim = head_dim};
  const size_t scale_offset = sizeof(float) * static_cast<size_t>(token_slot);

  alignas(64) int8_t codes[kMaxHeadDim];
  int32_t unused_sum;
  const float k_scale = QuantizeHead<V>(k, head_dim, codes, &unused_sum);
  std::memcpy(head + layout.KScalesOffset() + scale_offset, &k_scale, sizeof(k_scale));
  std::byte* k_codes = head + layout.KCodesOffset() + token_slot * 4;
  for (int d = 0; d < head_dim; d += 4) {
    uint32_t quad;
    std::memcpy(&quad, codes + d, sizeof(quad));
    quad ^= 0x80808080U;  // code + 128 in each byte
    std::memcpy(k_codes + d * kKvBlockTokens, &quad, sizeof(quad));
  }

  const float v_max = MaxAbs<V>(v, head_dim);
  const float v_scale = v_max / 127.0F;
  std::memcpy(head + layout.VScalesOffset() + scale_offset, &v_scale, sizeof(v_scale));
  const V inverse = V::Broadcast(v_max == 0.0F ? 0.0F : 127.0F / v_max);
  auto* v_codes = reinterpret_cast<int8_t*>(head + layout.VCodesOffset());
  v_codes += token_slot / 4 * 4 * head_dim;
  for (int d = 0; d < head_dim; d += kLanes) {
    RoundToCodes(V::Load(v + d), inverse).StoreInt8InQuads(v_codes + d * 4, token_slot % 4);
  }
}

template <class V>
void WriteKvF32(const float* k, const float* v, int head_dim, int token_slot, std::byte* head) {
  const KvLayout layout = {.dtype = KvDType::kF32, .head_dim = head_dim};
  const size_t row_bytes = static_cast<size_t>(head_dim) * sizeof(float);
  std::byte* k_row = head + row_bytes * static_cast<size_t>(token_slot);
  std::memcpy(k_row, k, row_bytes);
  std::memcpy(k_row + layout.VFloatsOffset(), v, row_bytes);
}

template <class V>
void Add(float* x, const float* y, int n) {
  for (int i = 0; i < n; i += kLanes) {
    (V::Load(x + i) + V::Load(y + i)).Store(x + i);
  }
}

template <class V>
void SiluMul(const float* gate, const float* up, int n, float* out) {
  const V one = V::Broadcast(1.0F);
  const V zero = V::Broadcast(0.0F);
  for (int i = 0; i < n; i += kLanes) {
    const V x = V::Load(gate + i);
    (x / (one + Exp(zero - x)) * V::Load(up + i)).Store(out + i);
  }
}

template <class V>
void Rope(float* x, const float* cos, const float* sin, int rotary_dim) {
  const int half_dim = rotary_dim / 2;
  int i = 0;
  for (; i + kLanes <= half_dim; i += kLanes) {
    const V a = V::Load(x + i);
    const V b = V::Load(x + i + half_dim);
    const V c = V::Load(cos + i);
    const V s = V::Load(sin + i);
    (a * c - b * s).Store(x + i);
    (b * c + a * s).Store(x + i + half_dim);
  }
  if (i < half_dim) {
    const V a = V::LoadHalf(x + i);
    const V b = V::LoadHalf(x + i + half_dim);
    const V c = V::LoadHalf(cos + i);
    const V s = V::LoadHalf(sin + i);
    (a * c - b * s).StoreHalf(x + i);
    (b * c + a * s).StoreHalf(x + i + half_dim);
  }
}

template <class V>
int Argmax(const float* x, int n) {
  // One pass finds the greatest value and the first chunk that has it; only that chunk is searched.
  constexpr int kChunk = 512;
  constexpr float kLowest = -__builtin_inff();
  float greatest = kLowest;
  int chunk = 0;
  int i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    V max[4];
    for (V& lanes : max) {
      lanes = V::Broadcast(kLowest);
    }
    for (int j = 0; j < kChunk; j += 4 * kLanes) {
      max[0] = V::Max(V::Load(x + i + j), max[0]);
      max[1] = V::Max(V::Load(x + i + j + kLanes), max[1]);
      max[2] = V::Max(V::Load(x + i + j + 2 * kLanes), max[2]);
      max[3] = V::Max(V::Load(x + i + j + 3 * kLanes), max[3]);
    }
    const float chunk_max = V::Max(V::Max(max[0], max[1]), V::Max(max[2], max[3])).MaxOfLanes();
    if (chunk_max > greatest) {
      greatest = chunk_max;
      chunk = i;
    }
  }
  for (; i < n; ++i) {
    if (x[i] > greatest) {
      greatest = x[i];
      chunk = i;
    }
  }
  // Where all are -inf or NaN no chunk was taken, and the search runs over all of x.
  for (i = chunk; i < n; ++i) {
    if (x[i] == greatest) {
      return i;
    }
  }
  return 0;  // nothing but NaN
}

template <class V>
ElementwiseKernels MakeElementwiseOver() {
  return {
      .rms_norm = RmsNorm<V>,
      .quantize_row = QuantizeRow<V>,
      .add = Add<V>,
      .silu_mul = SiluMul<V>,
      .rope = Rope<V>,
      .write_kv_int8 = WriteKvInt8<V>,
      .write_kv_f32 = WriteKvF32<V>,
      .quantize_query = QuantizeQuery<V>,
      .argmax = Argmax<V>,
  };
}

}  // namespace
}  // namespace whinchat::kernels
