// Solves one symmetric positive definite system of a world: row(i, h, g) writes row i of the matrix into h[0, N) (both
// triangles; rows and columns from n on are not read) and the right side into g. N >= n, a multiple of 4, is a
// compile-time bound.
//
// On the GPU the rows lie in registers, row i on lane i % L, and Gauss-Jordan elimination takes two pivots at a time
// through a row buffer in shared memory: as many issue slots as the Cholesky factor alone, without square roots and
// without triangular solves. Above 64 rows, and on the CPU, the matrix lies in memory and is factored as L D L'.
#pragma once
#include "sim/core/group.h"
#include "sim/mujoco/rows.h"
#include "sim/mujoco/spatial.h"

namespace hotloop {

// Solves for x, whose place holds the right side: a = L' D L from the last row up, as MuJoCo factors M, so that dofs on
// different branches of the tree stay apart. a: n rows of N elements, of which the lower triangle is read and
// overwritten, the rest up to the next multiple of 8 must be numbers.
template <int N, class Real>
SIM_HD void factor_and_solve(int n, Real* a, Real* x) {
  static_assert(N % 8 == 0);
  Real inverse[N];
  for (int k = n - 1; k >= 0; --k) {
    const Real* pivot = a + k * N;
    inverse[k] = Real(1) / pivot[k];
    for (int i = 0; i < k; ++i) {
      if (all(pivot[i] == Real(0))) continue;
      const Real factor = pivot[i] * inverse[k];
      add_scaled<8>(a + i * N, pivot, -factor, i + 1);
      x[i] -= factor * x[k];
    }
  }
  for (int i = 0; i < n; ++i) {
    Real sum = x[i];
    for (int j = 0; j < i; ++j)
      if (!all(a[i * N + j] == Real(0))) sum -= a[i * N + j] * x[j];
    x[i] = sum * inverse[i];
  }
}

#ifdef __CUDACC__

// 1 ulp in one instruction; the correctly rounded form has a slow branch in the middle of the elimination. Tests play
// the lanes on a CPU.
__device__ __forceinline__ float fast_reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1.0f / x;
#endif
}
__device__ __forceinline__ double fast_reciprocal(double x) { return 1.0 / x; }

// Gauss-Jordan on rows in registers: h[s][0, N) is row lane + L s, h[s][N] its right side. rows: 4 x (N + 4) elements
// of shared memory, 16-byte aligned. Rows from n on are unit rows.
template <int N, int R, int L, class Real>
__device__ __forceinline__ void eliminate(const DeviceGroup<L>& g, int n, Real (&h)[R][N + 1], Real* rows,
                                          Real (&x)[R]) {
  constexpr int kStride = N + 4;
  Real own[R] = {}, other[R] = {};
#pragma unroll
  for (int k = 0; k < N; k += 2) {
    if (k >= n) break;
    const int slot = k / L;
    Real* buffer = rows + (k / 2 % 2) * 2 * kStride;
#pragma unroll
    for (int s = 0; s < R; ++s) {
      if (s != slot) continue;
      if ((g.lane & ~1) == k % L) {
        Real* out = buffer + (g.lane & 1) * kStride;
#pragma unroll
        for (int q = k / 4; q < N / 4; ++q)
          reinterpret_cast<Quad<Real>*>(out)[q] = {{h[s][4 * q], h[s][4 * q + 1], h[s][4 * q + 2], h[s][4 * q + 3]}};
        out[N] = h[s][N];
      }
    }
    g.sync();
    const Real* top = buffer;
    const Real* bottom = buffer + kStride;
    const Real a = top[k], c = top[k + 1], e = bottom[k + 1];
    const Real inverse = fast_reciprocal(a * e - c * c);
    const Real ia = a * inverse, ic = c * inverse, ie = e * inverse;
    Real f[R], f2[R];
#pragma unroll
    for (int s = 0; s < R; ++s) {
      f[s] = h[s][k] * ie - h[s][k + 1] * ic;
      f2[s] = h[s][k + 1] * ia - h[s][k] * ic;
      if (s == slot && (g.lane & ~1) == k % L) {
        f[s] = f2[s] = Real(0);
        own[s] = (g.lane & 1) != 0 ? ia : ie;
        other[s] = -ic;
      }
    }
#pragma unroll
    for (int q = (k + 2) / 4; q <= N / 4; ++q) {
      const Quad<Real> p = quad(top, q), r = quad(bottom, q);
#pragma unroll
      for (int j = 4 * q; j < 4 * q + 4; ++j) {
        if (j < k + 2 || j > N) continue;
#pragma unroll
        for (int s = 0; s < R; ++s) {
          h[s][j] -= f[s] * p.v[j % 4];  // two statements: two fused multiply-adds
          h[s][j] -= f2[s] * r.v[j % 4];
        }
      }
    }
  }
#pragma unroll
  for (int s = 0; s < R; ++s) {
    const Real partner = __shfl_xor_sync(g.mask(), h[s][N], 1);
    x[s] = own[s] * h[s][N] + other[s] * partner;
  }
}

template <int N, int L, class Real, class Row>
__device__ __forceinline__ void solve(const DeviceGroup<L>& g, int n, Real* matrix, int stride, Real* rows, Row row,
                                      Real* x) {
  if constexpr (N <= 64) {
    constexpr int R = (N + L - 1) / L;
    Real h[R][N + 1], solution[R];
#pragma unroll
    for (int s = 0; s < R; ++s) {
      const int i = g.lane + L * s;
      if (i < n) {
        row(i, h[s], h[s][N]);
      } else {
#pragma unroll
        for (int j = 0; j <= N; ++j) h[s][j] = Real(j == i ? 1 : 0);
      }
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (j >= n && i < n) h[s][j] = Real(0);
    }
    g.sync();
    eliminate<N, R>(g, n, h, rows, solution);
#pragma unroll
    for (int s = 0; s < R; ++s)
      if (g.lane + L * s < n) x[g.lane + L * s] = solution[s];
    g.sync();
  } else {
    for (int i = g.lane; i < n; i += L) {
      Real right = 0;
      row(i, matrix + i * stride, right);
      x[i] = right;
    }
    g.sync();
    for (int k = 0; k < n; ++k) {
      const Real inverse = Real(1) / matrix[k * stride + k];
      const Real* pivot = matrix + k * stride;
      for (int i = k + 1 + g.lane; i < n; i += L) {
        const Real factor = pivot[i] * inverse;
        for (int j = i; j < n; ++j) matrix[i * stride + j] -= factor * pivot[j];
        x[i] -= factor * x[k];
      }
      g.sync();
    }
    for (int k = n - 1; k >= 0; --k) {
      const Real sum =
          g.template reduce<Real>(n - k - 1, [&](int i) { return matrix[k * stride + k + 1 + i] * x[k + 1 + i]; });
      g.once([&] { x[k] = (x[k] - sum) / matrix[k * stride + k]; });
    }
  }
}

#endif  // __CUDACC__

// rows: shared memory for the row buffer; matrix: n x stride elements where N > 64 on the GPU (else unused).
template <int N, int L, class Real, class Row>
SIM_HD void solve(const SerialGroup<L>&, int n, Real*, int, Real*, Row row, Real* x) {
  alignas(32) Real a[N * N];
  for (int i = 0; i < n; ++i) {
    for (int j = n / 8 * 8; j < (n + 7) / 8 * 8; ++j) a[i * N + j] = 0;
    Real right = 0;
    row(i, a + i * N, right);
    x[i] = right;
  }
  factor_and_solve<N>(n, a, x);
}

// out = the inverse of the n x n matrix at a; rows of both have `stride` elements and are 16-byte aligned. rows: the
// row buffer, as for solve. Gauss-Jordan without pivoting: the matrix is symmetric and positive definite.
template <int N, int L, class Real>
SIM_HD void invert(const SerialGroup<L>&, int n, const Real* a, int stride, Real*, Real* out) {
  for (int i = 0; i < n * stride; ++i) out[i] = a[i];
  for (int k = 0; k < n; ++k) {
    Real* pivot = out + k * stride;
    const Real inverse = Real(1) / pivot[k];
    pivot[k] = Real(1);
    for (int j = 0; j < n; ++j) pivot[j] *= inverse;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      Real* row = out + i * stride;
      const Real factor = row[k];
      row[k] = Real(0);
      for (int j = 0; j < n; ++j) row[j] -= factor * pivot[j];
    }
  }
}

#ifdef __CUDACC__

template <int N, int L, class Real>
__device__ __forceinline__ void invert(const DeviceGroup<L>& g, int n, const Real* a, int stride, Real* rows,
                                       Real* out) {
  if constexpr (N <= 64) {
    constexpr int R = (N + L - 1) / L;
    Real h[R][N];
#pragma unroll
    for (int s = 0; s < R; ++s) {
      const int i = g.lane + L * s;
      each_in_row<N>(a + (i < n ? i : n - 1) * stride, N < stride ? N : stride, [&](int j, Real v) { h[s][j] = v; });
    }
    // one loop for all pivots, for the size of the code: an entry of column k is found in the pivot's row, up to the
    // sign that a row has once it was the pivot
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
      Real* buffer = rows + (k & 1) * (N + 4);
#pragma unroll
      for (int s = 0; s < R; ++s)
        if (g.lane + L * s == k)
#pragma unroll
          for (int q = 0; q < N / 4; ++q)
            reinterpret_cast<Quad<Real>*>(buffer)[q] = {
                {h[s][4 * q], h[s][4 * q + 1], h[s][4 * q + 2], h[s][4 * q + 3]}};
      g.sync();
      const Real inverse = fast_reciprocal(buffer[k]);
#pragma unroll
      for (int s = 0; s < R; ++s) {
        const int i = g.lane + L * s;
        const bool own = i == k;
        const Real entry = buffer[i < n ? i : 0];
        const Real factor = own ? -inverse : (i < k ? -entry : entry) * inverse;
        each_in_row<N>(buffer, N, [&](int j, Real p) {
          const Real value = (own ? Real(0) : h[s][j]) - factor * p;
          h[s][j] = j == k ? -factor : value;
        });
      }
    }
#pragma unroll
    for (int s = 0; s < R; ++s) {
      const int i = g.lane + L * s;
      if (i >= n) continue;
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (j < n) out[i * stride + j] = h[s][j];
    }
    g.sync();
  } else {
    g.for_each(n * stride, [&](int i) { out[i] = a[i]; });
    for (int k = 0; k < n; ++k) {
      Real* pivot = out + k * stride;
      const Real inverse = Real(1) / pivot[k];
      g.sync();
      g.for_each(n, [&](int j) { pivot[j] = j == k ? inverse : pivot[j] * inverse; });
      g.for_each(n, [&](int i) {
        if (i == k) return;
        Real* row = out + i * stride;
        const Real factor = row[k];
        row[k] = Real(0);
        for (int j = 0; j < n; ++j) row[j] -= factor * pivot[j];
      });
    }
  }
}

#endif  // __CUDACC__

}  // namespace hotloop
