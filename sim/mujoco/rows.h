// Rows of M and J: m.row elements, 16-byte aligned, padded with zeros beyond nv; read four elements at a time.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

template <class Real>
struct alignas(alignof(Real) < 16 ? 16 : alignof(Real)) Quad {
  Real v[4];
};

// row: 16-byte aligned
template <class Real>
SIM_HD Quad<Real> quad(const Real* row, int k) {
  return reinterpret_cast<const Quad<Real>*>(row)[k];
}

// f(j, row[j]) for j in [0, width), width <= N, both multiples of 4.
template <int N, class Real, class F>
SIM_HD void each_in_row(const Real* row, int width, F f) {
#pragma unroll
  for (int k = 0; k < N / 4; ++k) {
    if (4 * k >= width) continue;
    const Quad<Real> q = quad(row, k);
    f(4 * k, q.v[0]);
    f(4 * k + 1, q.v[1]);
    f(4 * k + 2, q.v[2]);
    f(4 * k + 3, q.v[3]);
  }
}

// row . vector over [0, n); both 16-byte aligned.
template <class Real>
SIM_HD Real dot_row(const Real* row, const Real* vector, int n) {
  Real sum = 0, other = 0;
  int k = 0;
#pragma unroll 2
  for (; 4 * k + 4 <= n; ++k) {
    const Quad<Real> a = quad(row, k), b = quad(vector, k);
    sum += a.v[0] * b.v[0];
    other += a.v[1] * b.v[1];
    sum += a.v[2] * b.v[2];
    other += a.v[3] * b.v[3];
  }
  for (int j = 4 * k; j < n; ++j) sum += row[j] * vector[j];
  return sum + other;
}

// target[0, n) += factor * source[0, n), n rounded up to whole steps of K elements: vectors on the CPU.
template <int K, class Real>
SIM_HD void add_scaled(Real* __restrict__ target, const Real* __restrict__ source, Real factor, int n) {
  for (int j = 0; j < n; j += K)
    for (int k = 0; k < K; ++k) target[j + k] += factor * source[j + k];
}

}  // namespace hotloop
