// What a chain's layers apply to pairs of numbers.
#pragma once
#include <type_traits>

#include "train/fused/activate.h"
#include "train/fused/number.h"

namespace hotloop {

// f with the activation as a type: code that all elements pass should not ask for it at each.
template <class F>
__device__ __forceinline__ void with_chain_activation(Activation a, const F& f) {
  switch (a) {
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>{});
    default:
      return f(std::integral_constant<Activation, Activation::elu>{});
  }
}

// A pair of what layers make: activations of v0 and v1, and v0 and v1 times the slope at what they had made.
template <class T, Activation kActivation>
__device__ __forceinline__ std::uint32_t activate_pair(float v0, float v1) {
  return T::pack(fast_activate<kActivation, true>(v0), fast_activate<kActivation, true>(v1));
}
template <class T, Activation kActivation>
__device__ __forceinline__ std::uint32_t slope_pair(float v0, float v1, std::uint32_t y) {
  if constexpr (kActivation == Activation::tanh)
    return T::multiply(T::pack(v0, v1), T::fma(y ^ 0x80008000u, y, T::kOnes));
  return T::pack(v0 * fast_slope<kActivation, true>(T::unpack(static_cast<std::uint16_t>(y))),
                 v1 * fast_slope<kActivation, true>(T::unpack(static_cast<std::uint16_t>(y >> 16))));
}

}  // namespace hotloop
