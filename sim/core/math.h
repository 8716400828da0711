// Elementary functions that must give the same bits on CPU and GPU, and that the compiler can vectorise over worlds.
#pragma once
#include <cmath>
#include <cstdint>

#include "sim/core/hd.h"

namespace hotloop {

inline constexpr double kPi = 3.14159265358979323846;

// sin and cos by Cody-Waite reduction to [-pi/4, pi/4] and minimax polynomials (coefficients: Moshier, Cephes, single
// precision). Branch-free; absolute error below 1.2e-7 for |x| < 8192. Compiled without contraction to fused
// multiply-adds on both backends, so the bits agree.
SIM_HD void sin_cos(float x, float& sin_x, float& cos_x) {
  const float shifted = x * 0.63661977236758134f + 12582912.0f;  // + 1.5 * 2^23 rounds to the nearest integer
  const float quarter = shifted - 12582912.0f;
  const auto quadrant = static_cast<std::int32_t>(quarter);
  float r = x - quarter * 1.5703125f;  // pi/2 in three pieces, the first two exact in few bits
  r = r - quarter * 4.837512969970703125e-4f;
  r = r - quarter * 7.5497899548918821e-8f;
  const float r2 = r * r;
  const float s = r + r * r2 * (-1.6666654611e-1f + r2 * (8.3321608736e-3f + r2 * -1.9515295891e-4f));
  const float c =
      1.0f - 0.5f * r2 + r2 * r2 * (4.166664568298827e-2f + r2 * (-1.388731625493765e-3f + r2 * 2.443315711809948e-5f));
  const bool swap = (quadrant & 1) != 0;
  const float sin_abs = swap ? c : s;
  const float cos_abs = swap ? s : c;
  sin_x = (quadrant & 2) != 0 ? -sin_abs : sin_abs;
  cos_x = ((quadrant + 1) & 2) != 0 ? -cos_abs : cos_abs;
}

// Double precision is the oracle of the tests: the library's own functions.
SIM_HD void sin_cos(double x, double& sin_x, double& cos_x) {
  sin_x = ::sin(x);
  cos_x = ::cos(x);
}

// Comparisons rather than fmin/fmax: one instruction, vectorisable, NaN stays NaN.
template <class Real>
SIM_HD Real clamp(Real x, Real low, Real high) {
  return x < low ? low : (x > high ? high : x);
}

// x - x is 0 for finite x and NaN otherwise; needs no library call and vectorises.
template <class Real>
SIM_HD bool is_finite(Real x) {
  return x - x == Real(0);
}

// The same angle in [-pi, pi]. One floor instead of fmod: vectorises, and floor has one right answer on every device.
SIM_HD float wrap_angle(float x) {
  return x - static_cast<float>(2 * kPi) * floorf(x * static_cast<float>(0.5 / kPi) + 0.5f);
}
SIM_HD double wrap_angle(double x) { return x - 2 * kPi * floor(x * (0.5 / kPi) + 0.5); }

}  // namespace hotloop
