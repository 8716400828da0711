// bfloat16 as storage: 16 bits, the upper half of a float, rounded to nearest even. Arithmetic is done in float.
#pragma once
#include <cstdint>
#include <cstring>

#include "sim/core/hd.h"

namespace hotloop {

struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  SIM_HD Bf16(float x) {
    std::uint32_t u;
    memcpy(&u, &x, 4);
    const bool nan = x != x;
    u += 0x7fffu + ((u >> 16) & 1u);
    bits = nan ? std::uint16_t{0x7fc0} : static_cast<std::uint16_t>(u >> 16);
  }
  SIM_HD operator float() const {
    const std::uint32_t u = static_cast<std::uint32_t>(bits) << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
  }
};

// The type that arithmetic on stored values of T is done in.
template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Bf16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

}  // namespace hotloop
