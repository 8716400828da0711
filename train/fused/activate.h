// Activation functions inside the fused kernel, on the special function units. Absolute error of tanh: 5e-4 for
// networks of 16 bits, 2e-7 for fp32.
#pragma once
#include "sim/core/hd.h"
#include "train/policy_kinds.h"

namespace hotloop {

__device__ __forceinline__ float fast_exp(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
}

template <bool kRough>
__device__ __forceinline__ float fast_tanh(float x) {
  float y;
  if constexpr (kRough) {
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  const float e = fast_exp(2.0f * x);
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(e + 1.0f));
  return 1.0f - 2.0f * y;
}

template <Activation kKind, bool kRough>
__device__ __forceinline__ float fast_activate(float x) {
  if constexpr (kKind == Activation::tanh) return fast_tanh<kRough>(x);
  if constexpr (kKind == Activation::relu) return x > 0.0f ? x : 0.0f;
  if constexpr (kKind == Activation::elu) return x > 0.0f ? x : fast_exp(x) - 1.0f;
  if constexpr (kKind == Activation::silu) return x * (0.5f + 0.5f * fast_tanh<kRough>(0.5f * x));
  return x;
}

// The derivative from the output y, or, for silu, from the input.
template <Activation kKind, bool kRough>
__device__ __forceinline__ float fast_slope(float y) {
  if constexpr (kKind == Activation::tanh) return __fmaf_rn(-y, y, 1.0f);
  if constexpr (kKind == Activation::relu) return y > 0.0f ? 1.0f : 0.0f;
  if constexpr (kKind == Activation::elu) return y > 0.0f ? 1.0f : y + 1.0f;
  if constexpr (kKind == Activation::silu) {
    const float s = 0.5f + 0.5f * fast_tanh<kRough>(0.5f * y);
    return s * (1.0f + y * (1.0f - s));
  }
  return 1.0f;
}

}  // namespace hotloop
