// The numbers that weights and activations are made of inside the fused kernel.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"

namespace hotloop {

struct Fp16Bits {
  std::uint16_t bits;
  static constexpr std::uint32_t kOnes = 0x3c003c00u;  // two times 1
  // a * b + c and a * b of two pairs
  __device__ __forceinline__ static std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b), "r"(c));
    return c;
  }
  __device__ __forceinline__ static std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  __device__ __forceinline__ static std::uint32_t pack(float low, float high) {
    std::uint32_t r;
    // beyond the largest number it stays the largest: one far observation must not turn all into NaN
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
  }
  __device__ __forceinline__ static float unpack(std::uint16_t bits) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
    return f;
  }
};

struct Bf16Bits {
  std::uint16_t bits;
  static constexpr std::uint32_t kOnes = 0x3f803f80u;
  __device__ __forceinline__ static std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b), "r"(c));
    return c;
  }
  __device__ __forceinline__ static std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    return fma(a, b, 0x80008000u);  // -0 leaves every product as it is
  }
  __device__ __forceinline__ static std::uint32_t pack(float low, float high) {
    std::uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
  }
  __device__ __forceinline__ static float unpack(std::uint16_t bits) {
    return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
  }
};

// Single numbers and neighbouring pairs of them in shared memory; a pair starts at an even index.
template <class T>
__device__ __forceinline__ void put(T* to, float v) {
  to->bits = static_cast<std::uint16_t>(T::pack(v, 0.0f));
}
template <class T>
__device__ __forceinline__ void put(T* to, float v0, float v1) {
  *reinterpret_cast<std::uint32_t*>(to) = T::pack(v0, v1);
}
template <class T>
__device__ __forceinline__ float get(const T* from) {
  return T::unpack(from->bits);
}
template <class T>
__device__ __forceinline__ void get(const T* from, float& v0, float& v1) {
  const auto both = *reinterpret_cast<const std::uint32_t*>(from);
  v0 = T::unpack(static_cast<std::uint16_t>(both));
  v1 = T::unpack(static_cast<std::uint16_t>(both >> 16));
}
__device__ __forceinline__ void put(float* to, float v) { *to = v; }
__device__ __forceinline__ void put(float* to, float v0, float v1) { to[0] = v0, to[1] = v1; }
__device__ __forceinline__ float get(const float* from) { return *from; }

}  // namespace hotloop
