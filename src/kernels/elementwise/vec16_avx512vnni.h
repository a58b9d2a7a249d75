// SPDX-License-Identifier: Apache-2.0
// Sixteen fp32 lanes in one AVX-512 register; lane for lane what vec16_scalar.h defines.
// Included by *_avx512vnni.cc files only.
#pragma once

// g++ 12 warns of its own undefined-value idiom inside the AVX-512 intrinsics (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>

namespace whinchat::kernels {
namespace {

struct Vec16Avx512Vnni {
  __m512 v;

  static Vec16Avx512Vnni Broadcast(float value) { return {_mm512_set1_ps(value)}; }
  static Vec16Avx512Vnni Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vec16Avx512Vnni LoadHalf(const float* p) {
    return {_mm512_zextps256_ps512(_mm256_loadu_ps(p))};
  }
  void Store(float* p) const { _mm512_storeu_ps(p, v); }
  void StoreHalf(float* p) const { _mm256_storeu_ps(p, _mm512_castps512_ps256(v)); }
  void StoreInt8(int8_t* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v)));
  }
  void StoreInt8InQuads(int8_t* p, int place) const {
    const __m512i codes = _mm512_sllv_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(8 * place));
    _mm512_mask_storeu_epi8(p, 0x1111111111111111U << place, codes);
  }
  void StoreUint8(uint8_t* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(v)));
  }

  friend Vec16Avx512Vnni operator+(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_add_ps(a.v, b.v)};
  }
  friend Vec16Avx512Vnni operator-(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_sub_ps(a.v, b.v)};
  }
  friend Vec16Avx512Vnni operator*(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_mul_ps(a.v, b.v)};
  }
  friend Vec16Avx512Vnni operator/(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_div_ps(a.v, b.v)};
  }
  static Vec16Avx512Vnni Fma(Vec16Avx512Vnni a, Vec16Avx512Vnni b, Vec16Avx512Vnni c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  static Vec16Avx512Vnni Max(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_max_ps(a.v, b.v)};
  }
  static Vec16Avx512Vnni Min(Vec16Avx512Vnni a, Vec16Avx512Vnni b) {
    return {_mm512_min_ps(a.v, b.v)};
  }
  Vec16Avx512Vnni Abs() const { return {_mm512_abs_ps(v)}; }
  static Vec16Avx512Vnni SelectLess(Vec16Avx512Vnni a,
                                    Vec16Avx512Vnni b,
                                    Vec16Avx512Vnni yes,
                                    Vec16Avx512Vnni no) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
  }
  static Vec16Avx512Vnni KeepNan(Vec16Avx512Vnni x, Vec16Avx512Vnni number) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q), number.v, x.v)};
  }
  static Vec16Avx512Vnni AddExponentOrZero(Vec16Avx512Vnni v,
                                           Vec16Avx512Vnni shifted,
                                           Vec16Avx512Vnni x,
                                           Vec16Avx512Vnni lowest) {
    const __mmask16 is_kept = _mm512_cmp_ps_mask(x.v, lowest.v, _CMP_NLT_UQ);
    const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted.v), 23);
    return {
        _mm512_castsi512_ps(_mm512_maskz_add_epi32(is_kept, _mm512_castps_si512(v.v), exponent))};
  }
  float SumByHalves() const {
    const __m256 sum8 = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 sum4 = _mm_add_ps(_mm256_castps256_ps128(sum8), _mm256_extractf128_ps(sum8, 1));
    const __m128 sum2 = _mm_add_ps(sum4, _mm_movehl_ps(sum4, sum4));
    return _mm_cvtss_f32(_mm_add_ss(sum2, _mm_movehdup_ps(sum2)));
  }
  float MaxOfLanes() const {
    const __m256 max8 = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 max4 = _mm_max_ps(_mm256_castps256_ps128(max8), _mm256_extractf128_ps(max8, 1));
    const __m128 max2 = _mm_max_ps(max4, _mm_movehl_ps(max4, max4));
    return _mm_cvtss_f32(_mm_max_ss(max2, _mm_movehdup_ps(max2)));
  }
  // A tree of pairs: 8 vectors of 16 candidates, 4 of 2 x 8, 2 of 4 x 4, 1 of 8 x 2.
  static Vec16Avx512Vnni MaxOfLanesOf8(const Vec16Avx512Vnni (&v)[8]) {
    __m512 pair[4];  // lanes 0-7: v[i], 8-15: v[i + 4]
    for (int i = 0; i < 4; ++i) {
      pair[i] = _mm512_max_ps(_mm512_shuffle_f32x4(v[i].v, v[i + 4].v, 0x44),
                              _mm512_shuffle_f32x4(v[i].v, v[i + 4].v, 0xEE));
    }
    __m512 quad[2];  // 128-bit lanes: v[i], v[i + 2], v[i + 4], v[i + 6]
    for (int i = 0; i < 2; ++i) {
      quad[i] = _mm512_max_ps(_mm512_shuffle_f32x4(pair[i], pair[i + 2], 0x88),
                              _mm512_shuffle_f32x4(pair[i], pair[i + 2], 0xDD));
    }
    // Each 128-bit lane of quad[0] now is v[0], v[4], v[2], v[6]; of quad[1] v[1], v[5], v[3],
    // v[7].
    const __m512 both =
        _mm512_max_ps(_mm512_unpacklo_ps(quad[0], quad[1]), _mm512_unpackhi_ps(quad[0], quad[1]));
    const __m512 max = _mm512_max_ps(both, _mm512_permute_ps(both, 0x4E));
    const __m512i order = _mm512_setr_epi32(0, 1, 8, 9, 4, 5, 12, 13, 0, 1, 8, 9, 4, 5, 12, 13);
    return {_mm512_permutexvar_ps(order, max)};
  }
};

}  // namespace
}  // namespace whinchat::kernels
