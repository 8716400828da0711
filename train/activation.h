// Activation functions and their derivatives, for every backend and precision.
#pragma once
#include "sim/core/hd.h"
#include "sim/core/math.h"
#include "train/policy_kinds.h"

namespace hotloop {

template <class R>
SIM_HD R activate(Activation a, R x) {
  switch (a) {
    case Activation::tanh:
      return tanh(x);
    case Activation::relu:
      return x > R(0) ? x : R(0);
    case Activation::elu:
      return x > R(0) ? x : exp(x) - R(1);
    case Activation::silu:
      return x / (R(1) + exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

// The derivative from the output y (and the input x for silu, whose output does not determine it).
template <class R>
SIM_HD R slope(Activation a, R y, R x) {
  switch (a) {
    case Activation::tanh:
      return R(1) - y * y;
    case Activation::relu:
      return y > R(0) ? R(1) : R(0);
    case Activation::elu:
      return y > R(0) ? R(1) : y + R(1);
    case Activation::silu: {
      const R s = R(1) / (R(1) + exp(-x));
      return s * (R(1) + x * (R(1) - s));
    }
    case Activation::none:
      break;
  }
  return R(1);
}

}  // namespace hotloop
