// SPDX-License-Identifier: Apache-2.0
// Sixteen fp32 lanes in plain C++: the reference that the SIMD vectors of the same name must match
// bit for bit. Included by *_scalar.cc files only; the unnamed namespace keeps each ISA's code
// private to its object file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whinchat::kernels {
namespace {

struct Vec16Scalar {
  float lane[16];

  static Vec16Scalar Broadcast(float value) {
    Vec16Scalar v;
    for (float& x : v.lane) {
      x = value;
    }
    return v;
  }
  static Vec16Scalar Load(const float* p) {
    Vec16Scalar v;
    std::memcpy(v.lane, p, sizeof(v.lane));
    return v;
  }
  // Eight floats; the upper lanes are zero.
  static Vec16Scalar LoadHalf(const float* p) {
    Vec16Scalar v = Broadcast(0.0F);
    std::memcpy(v.lane, p, 8 * sizeof(float));
    return v;
  }
  void Store(float* p) const { std::memcpy(p, lane, sizeof(lane)); }
  void StoreHalf(float* p) const { std::memcpy(p, lane, 8 * sizeof(float)); }
  // The lanes hold whole numbers in the type's range.
  void StoreInt8(int8_t* p) const {
    for (int i = 0; i < 16; ++i) {
      p[i] = static_cast<int8_t>(lane[i]);
    }
  }
  // Lane i to p[4 * i + place].
  void StoreInt8InQuads(int8_t* p, int place) const {
    int8_t codes[16];
    StoreInt8(codes);
    for (int i = 0; i < 16; ++i) {
      p[4 * i + place] = codes[i];
    }
  }
  // Rounds to nearest even. The lanes are in [0, 255.5); NaN gives some byte.
  void StoreUint8(uint8_t* p) const {
    const float shift = 12582912.0F;  // 1.5 * 2^23
    for (int i = 0; i < 16; ++i) {
      const float rounded = (lane[i] + shift) - shift;
      p[i] = rounded >= 0.0F && rounded <= 255.0F ? static_cast<uint8_t>(rounded) : uint8_t{0};
    }
  }

  friend Vec16Scalar operator+(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] += b.lane[i];
    }
    return a;
  }
  friend Vec16Scalar operator-(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] -= b.lane[i];
    }
    return a;
  }
  friend Vec16Scalar operator*(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] *= b.lane[i];
    }
    return a;
  }
  friend Vec16Scalar operator/(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] /= b.lane[i];
    }
    return a;
  }
  // a * b + c, rounded once.
  static Vec16Scalar Fma(Vec16Scalar a, Vec16Scalar b, Vec16Scalar c) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] = __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]);
    }
    return a;
  }
  // a > b ? a : b, so b wins where either is NaN (as x86's maxps has it).
  static Vec16Scalar Max(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    }
    return a;
  }
  // a < b ? a : b.
  static Vec16Scalar Min(Vec16Scalar a, Vec16Scalar b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
    }
    return a;
  }
  Vec16Scalar Abs() const {
    Vec16Scalar v = *this;
    for (float& x : v.lane) {
      x = __builtin_fabsf(x);
    }
    return v;
  }
  // Lane by lane a < b ? yes : no (`no` for NaN).
  static Vec16Scalar SelectLess(Vec16Scalar a, Vec16Scalar b, Vec16Scalar yes, Vec16Scalar no) {
    for (int i = 0; i < 16; ++i) {
      no.lane[i] = a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i];
    }
    return no;
  }
  // `number` where it is not NaN, else `nan`'s lane: x == x ? number : x.
  static Vec16Scalar KeepNan(Vec16Scalar x, Vec16Scalar number) {
    for (int i = 0; i < 16; ++i) {
      number.lane[i] = x.lane[i] == x.lane[i] ? number.lane[i] : x.lane[i];
    }
    return number;
  }
  // v * 2^n where shifted = 1.5 * 2^23 + n, by adding n to the exponent field; 0 where x < lowest.
  static Vec16Scalar AddExponentOrZero(Vec16Scalar v,
                                       Vec16Scalar shifted,
                                       Vec16Scalar x,
                                       Vec16Scalar lowest) {
    uint32_t v_bits[16];
    uint32_t n_bits[16];
    std::memcpy(v_bits, v.lane, sizeof(v_bits));
    std::memcpy(n_bits, shifted.lane, sizeof(n_bits));
    for (int i = 0; i < 16; ++i) {
      v_bits[i] = x.lane[i] < lowest.lane[i] ? 0U : v_bits[i] + (n_bits[i] << 23);
    }
    std::memcpy(v.lane, v_bits, sizeof(v_bits));
    return v;
  }
  // Lane i + lane i+8, then +4, +2, +1.
  float SumByHalves() const {
    Vec16Scalar v = *this;
    for (int half = 8; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) {
        v.lane[i] += v.lane[i + half];
      }
    }
    return v.lane[0];
  }
  // Exact in any order (no NaN).
  float MaxOfLanes() const {
    float max = lane[0];
    for (int i = 1; i < 16; ++i) {
      max = lane[i] > max ? lane[i] : max;
    }
    return max;
  }
  // Lane i is the maximum of v[i] for i < 8; the upper lanes repeat the lower.
  static Vec16Scalar MaxOfLanesOf8(const Vec16Scalar (&v)[8]) {
    Vec16Scalar max;
    for (int i = 0; i < 16; ++i) {
      max.lane[i] = v[i % 8].MaxOfLanes();
    }
    return max;
  }
};

}  // namespace
}  // namespace whinchat::kernels
