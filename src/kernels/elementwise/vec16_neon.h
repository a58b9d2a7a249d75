// SPDX-License-Identifier: Apache-2.0
// Sixteen fp32 lanes in four NEON registers; lane for lane what vec16_scalar.h defines.
// Max and Min are a compare and a select: FMAX has another answer for NaN than the scalar one.
// Included by *_neon.cc, *_dotprod.cc and *_i8mm.cc files only.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace whinchat::kernels {
namespace {

struct Vec16Neon {
  float32x4_t v[4];

  static Vec16Neon Broadcast(float value) {
    const float32x4_t x = vdupq_n_f32(value);
    return {{x, x, x, x}};
  }
  static Vec16Neon Load(const float* p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  static Vec16Neon LoadHalf(const float* p) {
    const float32x4_t zero = vdupq_n_f32(0.0F);
    return {{vld1q_f32(p), vld1q_f32(p + 4), zero, zero}};
  }
  void Store(float* p) const {
    StoreHalf(p);
    vst1q_f32(p + 8, v[2]);
    vst1q_f32(p + 12, v[3]);
  }
  void StoreHalf(float* p) const {
    vst1q_f32(p, v[0]);
    vst1q_f32(p + 4, v[1]);
  }
  void StoreInt8(int8_t* p) const {
    const int8x8_t low = vqmovn_s16(Int16Of(v[0], v[1]));
    vst1q_s8(p, vcombine_s8(low, vqmovn_s16(Int16Of(v[2], v[3]))));
  }
  void StoreInt8InQuads(int8_t* p, int place) const {
    int8_t codes[16];
    StoreInt8(codes);
    for (int i = 0; i < 16; ++i) {
      p[4 * i + place] = codes[i];
    }
  }
  void StoreUint8(uint8_t* p) const {
    const uint8x8_t low = vqmovun_s16(Int16Of(v[0], v[1]));
    vst1q_u8(p, vcombine_u8(low, vqmovun_s16(Int16Of(v[2], v[3]))));
  }

  friend Vec16Neon operator+(Vec16Neon a, Vec16Neon b) {
    return Map(a, b, [](float32x4_t x, float32x4_t y) { return vaddq_f32(x, y); });
  }
  friend Vec16Neon operator-(Vec16Neon a, Vec16Neon b) {
    return Map(a, b, [](float32x4_t x, float32x4_t y) { return vsubq_f32(x, y); });
  }
  friend Vec16Neon operator*(Vec16Neon a, Vec16Neon b) {
    return Map(a, b, [](float32x4_t x, float32x4_t y) { return vmulq_f32(x, y); });
  }
  friend Vec16Neon operator/(Vec16Neon a, Vec16Neon b) {
    return Map(a, b, [](float32x4_t x, float32x4_t y) { return vdivq_f32(x, y); });
  }
  static Vec16Neon Fma(Vec16Neon a, Vec16Neon b, Vec16Neon c) {
    for (int i = 0; i < 4; ++i) {
      c.v[i] = vfmaq_f32(c.v[i], a.v[i], b.v[i]);
    }
    return c;
  }
  static Vec16Neon Max(Vec16Neon a, Vec16Neon b) { return Map(a, b, Max4); }
  static Vec16Neon Min(Vec16Neon a, Vec16Neon b) {
    return Map(a, b, [](float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); });
  }
  Vec16Neon Abs() const {
    return {{vabsq_f32(v[0]), vabsq_f32(v[1]), vabsq_f32(v[2]), vabsq_f32(v[3])}};
  }
  static Vec16Neon SelectLess(Vec16Neon a, Vec16Neon b, Vec16Neon yes, Vec16Neon no) {
    for (int i = 0; i < 4; ++i) {
      no.v[i] = vbslq_f32(vcltq_f32(a.v[i], b.v[i]), yes.v[i], no.v[i]);
    }
    return no;
  }
  static Vec16Neon KeepNan(Vec16Neon x, Vec16Neon number) {
    return Map(
        x, number, [](float32x4_t a, float32x4_t b) { return vbslq_f32(vceqq_f32(a, a), b, a); });
  }
  static Vec16Neon AddExponentOrZero(Vec16Neon v,
                                     Vec16Neon shifted,
                                     Vec16Neon x,
                                     Vec16Neon lowest) {
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t exponent = vshlq_n_u32(vreinterpretq_u32_f32(shifted.v[i]), 23);
      const uint32x4_t scaled = vaddq_u32(vreinterpretq_u32_f32(v.v[i]), exponent);
      v.v[i] = vreinterpretq_f32_u32(vbicq_u32(scaled, vcltq_f32(x.v[i], lowest.v[i])));
    }
    return v;
  }
  float SumByHalves() const {
    const float32x4_t sum4 = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
    const float32x2_t sum2 = vadd_f32(vget_low_f32(sum4), vget_high_f32(sum4));
    return vget_lane_f32(sum2, 0) + vget_lane_f32(sum2, 1);
  }
  float MaxOfLanes() const { return vmaxvq_f32(Max4(Max4(v[0], v[2]), Max4(v[1], v[3]))); }
  // No NaN here, so FMAXP will do.
  static Vec16Neon MaxOfLanesOf8(const Vec16Neon (&v)[8]) {
    float32x4_t max4[8];
    for (int i = 0; i < 8; ++i) {
      max4[i] = vmaxq_f32(vmaxq_f32(v[i].v[0], v[i].v[1]), vmaxq_f32(v[i].v[2], v[i].v[3]));
    }
    const float32x4_t low = vpmaxq_f32(vpmaxq_f32(max4[0], max4[1]), vpmaxq_f32(max4[2], max4[3]));
    const float32x4_t high = vpmaxq_f32(vpmaxq_f32(max4[4], max4[5]), vpmaxq_f32(max4[6], max4[7]));
    return {{low, high, low, high}};
  }

 private:
  template <class Function>
  static Vec16Neon Map(Vec16Neon a, Vec16Neon b, Function function) {
    for (int i = 0; i < 4; ++i) {
      a.v[i] = function(a.v[i], b.v[i]);
    }
    return a;
  }
  static float32x4_t Max4(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
  static int16x8_t Int16Of(float32x4_t a, float32x4_t b) {
    return vcombine_s16(vqmovn_s32(vcvtnq_s32_f32(a)), vqmovn_s32(vcvtnq_s32_f32(b)));
  }
};

}  // namespace
}  // namespace whinchat::kernels
