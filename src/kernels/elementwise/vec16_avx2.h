// SPDX-License-Identifier: Apache-2.0
// Sixteen fp32 lanes in two AVX2 registers (lanes 0-7, 8-15); lane for lane what vec16_scalar.h
// defines. Included by *_avx2.cc and *_avxvnni.cc files only.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace whinchat::kernels {
namespace {

struct Vec16Avx2 {
  __m256 low;
  __m256 high;

  static Vec16Avx2 Broadcast(float value) {
    const __m256 v = _mm256_set1_ps(value);
    return {v, v};
  }
  static Vec16Avx2 Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Vec16Avx2 LoadHalf(const float* p) { return {_mm256_loadu_ps(p), _mm256_setzero_ps()}; }
  void Store(float* p) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }
  void StoreHalf(float* p) const { _mm256_storeu_ps(p, low); }
  void StoreInt8(int8_t* p) const {
    const __m128i words = _mm_packs_epi16(Int16Of(low), Int16Of(high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), words);
  }
  void StoreInt8InQuads(int8_t* p, int place) const {
    int8_t codes[16];
    StoreInt8(codes);
    for (int i = 0; i < 16; ++i) {
      p[4 * i + place] = codes[i];
    }
  }
  void StoreUint8(uint8_t* p) const {
    const __m128i words = _mm_packus_epi16(Int16Of(low), Int16Of(high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), words);
  }

  friend Vec16Avx2 operator+(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  friend Vec16Avx2 operator-(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  friend Vec16Avx2 operator*(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  friend Vec16Avx2 operator/(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  static Vec16Avx2 Fma(Vec16Avx2 a, Vec16Avx2 b, Vec16Avx2 c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Vec16Avx2 Max(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Vec16Avx2 Min(Vec16Avx2 a, Vec16Avx2 b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  Vec16Avx2 Abs() const {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(sign, low), _mm256_andnot_ps(sign, high)};
  }
  static Vec16Avx2 SelectLess(Vec16Avx2 a, Vec16Avx2 b, Vec16Avx2 yes, Vec16Avx2 no) {
    return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
            _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
  }
  static Vec16Avx2 KeepNan(Vec16Avx2 x, Vec16Avx2 number) {
    return {_mm256_blendv_ps(number.low, x.low, _mm256_cmp_ps(x.low, x.low, _CMP_UNORD_Q)),
            _mm256_blendv_ps(number.high, x.high, _mm256_cmp_ps(x.high, x.high, _CMP_UNORD_Q))};
  }
  static Vec16Avx2 AddExponentOrZero(Vec16Avx2 v,
                                     Vec16Avx2 shifted,
                                     Vec16Avx2 x,
                                     Vec16Avx2 lowest) {
    return {AddExponentOrZero8(v.low, shifted.low, x.low, lowest.low),
            AddExponentOrZero8(v.high, shifted.high, x.high, lowest.high)};
  }
  float SumByHalves() const {
    const __m256 sum8 = _mm256_add_ps(low, high);
    const __m128 sum4 = _mm_add_ps(_mm256_castps256_ps128(sum8), _mm256_extractf128_ps(sum8, 1));
    const __m128 sum2 = _mm_add_ps(sum4, _mm_movehl_ps(sum4, sum4));
    return _mm_cvtss_f32(_mm_add_ss(sum2, _mm_movehdup_ps(sum2)));
  }
  float MaxOfLanes() const {
    const __m256 max8 = _mm256_max_ps(low, high);
    const __m128 max4 = _mm_max_ps(_mm256_castps256_ps128(max8), _mm256_extractf128_ps(max8, 1));
    const __m128 max2 = _mm_max_ps(max4, _mm_movehl_ps(max4, max4));
    return _mm_cvtss_f32(_mm_max_ss(max2, _mm_movehdup_ps(max2)));
  }
  // A tree of pairs; the last step leaves v[i] in lane i.
  static Vec16Avx2 MaxOfLanesOf8(const Vec16Avx2 (&v)[8]) {
    __m256 pair[4];  // 128-bit lanes: v[i], v[i + 4]
    for (int i = 0; i < 4; ++i) {
      const __m256 a = _mm256_max_ps(v[i].low, v[i].high);
      const __m256 b = _mm256_max_ps(v[i + 4].low, v[i + 4].high);
      pair[i] =
          _mm256_max_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    }
    __m256 quad[2];  // in each 128-bit lane: two candidates of v[i], two of v[i + 1]
    for (int i = 0; i < 2; ++i) {
      quad[i] = _mm256_max_ps(_mm256_shuffle_ps(pair[2 * i], pair[2 * i + 1], 0x44),
                              _mm256_shuffle_ps(pair[2 * i], pair[2 * i + 1], 0xEE));
    }
    const __m256 max = _mm256_max_ps(_mm256_shuffle_ps(quad[0], quad[1], 0x88),
                                     _mm256_shuffle_ps(quad[0], quad[1], 0xDD));
    return {max, max};
  }

 private:
  static __m128i Int16Of(__m256 v) {
    const __m256i ints = _mm256_cvtps_epi32(v);
    return _mm_packs_epi32(_mm256_castsi256_si128(ints), _mm256_extracti128_si256(ints, 1));
  }
  static __m256 AddExponentOrZero8(__m256 v, __m256 shifted, __m256 x, __m256 lowest) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    const __m256i scaled = _mm256_add_epi32(_mm256_castps_si256(v), exponent);
    return _mm256_and_ps(_mm256_castsi256_ps(scaled), _mm256_cmp_ps(x, lowest, _CMP_NLT_UQ));
  }
};

}  // namespace
}  // namespace whinchat::kernels
