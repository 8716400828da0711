// Eight floats at a time on the CPU, with the functions that networks need of them: no call, no branch, the same bits
// wherever a number stands in a vector. Only for sources compiled like train/fused/cpu_*.cpp.
#pragma once
#include <cstdint>
#include <cstring>

#include "train/policy_spec.h"

// vectors of 32 bytes pass between functions only where these are inlined: no calling convention matters
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hotloop {

inline constexpr std::int64_t kLanes = 8;
typedef float Float8 __attribute__((vector_size(32)));
typedef std::int32_t Int8 __attribute__((vector_size(32)));

inline Float8 load8(const float* from) {
  Float8 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store8(float* to, const Float8& v) { std::memcpy(to, &v, sizeof v); }
inline Float8 all8(float x) { return Float8{x, x, x, x, x, x, x, x}; }

// NaN stays NaN.
inline Float8 clamp8(const Float8& x, float low, float high) {
  const Float8 raised = x < low ? all8(low) : x;
  return raised > high ? all8(high) : raised;
}

// A rational minimax fit of our own: relative error below 2.6e-7, and never above one in magnitude.
inline Float8 tanh8(const Float8& input) {
  const Float8 x = clamp8(input, -8.3f, 8.3f);
  const Float8 u = x * x;
  Float8 p = u * 2.805545485e-08f + 4.119446385e-05f;
  p = p * u + 6.797574926e-03f;
  p = p * u + 2.571396828e-01f;
  p = p * u + 1.915254235f;
  Float8 q = u * 1.588737064e-06f + 6.461995654e-04f;
  q = q * u + 4.994978756e-02f;
  q = q * u + 8.955575824e-01f;
  q = q * u + 1.915254235f;
  return x * p / q;
}

// exp of x clamped to where the result is a normal number: reduction by multiples of ln 2, then a minimax polynomial.
inline Float8 exp8(const Float8& input) {
  const Float8 x = clamp8(input, -87.3f, 88.3f);
  const Float8 shifted = x * 1.44269504f + 12582912.0f;  // + 1.5 * 2^23 rounds to the nearest integer
  const Float8 n = shifted - 12582912.0f;
  Float8 r = x - n * 0.693359375f;  // ln 2 in two pieces, the first exact in few bits
  r = r + n * 2.12194440e-4f;
  Float8 p = r * 1.381446607e-03f + 8.368780836e-03f;
  p = p * r + 4.166839272e-02f;
  p = p * r + 1.666651964e-01f;
  p = p * r + 4.999999404e-01f;
  p = p * (r * r) + r + 1.0f;
  Int8 bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const Int8 power_bits = (bits - 0x4B400000 + 127) << 23;  // the shifted number's last bits are n
  Float8 power;
  std::memcpy(&power, &power_bits, sizeof power);
  return p * power;
}

// activate() and slope() of train/activation.h.
template <Activation A>
Float8 activate8(const Float8& x) {
  if constexpr (A == Activation::tanh) return tanh8(x);
  if constexpr (A == Activation::relu) return x > 0.0f ? x : all8(0.0f);
  if constexpr (A == Activation::elu) return x > 0.0f ? x : exp8(x) - 1.0f;
  if constexpr (A == Activation::silu) return x / (1.0f + exp8(-x));
  return x;
}

template <Activation A>
Float8 slope8(const Float8& y, const Float8& x) {
  if constexpr (A == Activation::tanh) return 1.0f - y * y;
  if constexpr (A == Activation::relu) return y > 0.0f ? all8(1.0f) : all8(0.0f);
  if constexpr (A == Activation::elu) return y > 0.0f ? all8(1.0f) : y + 1.0f;
  if constexpr (A == Activation::silu) {
    const Float8 s = 1.0f / (1.0f + exp8(-x));
    return s * (1.0f + x * (1.0f - s));
  }
  return all8(1.0f);
}

}  // namespace hotloop
