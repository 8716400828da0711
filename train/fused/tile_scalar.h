// Matrix products of one warp in fp32, without tensor cores: each lane multiplies a tile of its own from shared memory.
// The same interface as TensorEngine.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"
#include "train/fused/number.h"

namespace hotloop {

struct ScalarEngine {
  static constexpr int kDepthUnit = 4, kBreadthUnit = 8;
  static constexpr int kPad = 4;  // of a row in shared memory [numbers]

  template <int R, int K, int N, bool kTransposed, class F>
  __device__ __forceinline__ static void product(const float* a, int lda, const float* b, int ldb, F f) {
    if constexpr (kTransposed)
      product_rows<R, K, N>(a, lda, b, ldb, f);
    else
      product_columns<R, K, N>(a, lda, b, ldb, f);
  }

  template <int kRows, int N, bool kBias, int kUnits, int kStep>
  __device__ __forceinline__ static void outer(float* acc, const float* a, int lda, const float* b, int ldb) {
    constexpr int kVector = vector<N>(), kTiles = N / 8 / kVector, kUnit = N / 2 + (kBias ? 4 : 0);
    const int lane = threadIdx.x % 32;
    const float* left = a + lane / 8 * 4;
    const float* right = b + lane % 8 * kVector;
#pragma unroll 4
    for (int k = 0; k < kRows; ++k) {
      float m[kUnits][4];
#pragma unroll
      for (int u = 0; u < kUnits; ++u) load<4>(m[u], left + k * lda + kStep * u);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        float n[kVector];
        load<kVector>(n, right + k * ldb + 8 * kVector * j);
#pragma unroll
        for (int u = 0; u < kUnits; ++u)
#pragma unroll
          for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int q = 0; q < kVector; ++q) {
              float& sum = acc[u * kUnit + (j * kVector + q) * 4 + i];
              sum = __fmaf_rn(m[u][i], n[q], sum);
            }
      }
    }
    if constexpr (kBias) {  // a lane a column, the lanes of each half of the warp every second row
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        const float* column = a + kStep * u + lane % 16 + lane / 16 * lda;
        float sum = acc[u * kUnit + N / 8 * 4];
#pragma unroll 8
        for (int k = 0; k < kRows; k += 2) sum += column[k * lda];
        acc[u * kUnit + N / 8 * 4] = sum;
      }
    }
  }

  template <int N, class F>
  __device__ __forceinline__ static void each_outer(F f) {
    constexpr int kVector = vector<N>(), kTiles = N / 8 / kVector;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const int n = lane % 8 * kVector + 8 * kVector * j;
        if constexpr (kVector == 1) {
          f(lane / 8 * 4 + i, n, j * 4 + i);
        } else {
#pragma unroll
          for (int q = 0; q < kVector; q += 2)
            f(lane / 8 * 4 + i, n + q, (j * kVector + q) * 4 + i, (j * kVector + q + 1) * 4 + i);
        }
      }
  }
  template <int N, class F>
  __device__ __forceinline__ static void each_bias(const float* acc, F f) {
    const int lane = threadIdx.x % 32;
    const float sum = acc[N / 8 * 4] + __shfl_xor_sync(0xffffffffu, acc[N / 8 * 4], 16);
    if (lane < 16) f(lane, sum, N / 8 * 4);
  }

 private:
  template <int N>
  static constexpr int vector() {
    return N % 32 == 0 ? 4 : (N % 16 == 0 ? 2 : 1);
  }
  template <int kVector>
  __device__ __forceinline__ static void load(float (&to)[kVector], const float* from) {
    if constexpr (kVector == 4) {
      const float4 x = *reinterpret_cast<const float4*>(from);
      to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    } else if constexpr (kVector == 2) {
      const float2 x = *reinterpret_cast<const float2*>(from);
      to[0] = x.x, to[1] = x.y;
    } else {
      to[0] = *from;
    }
  }

  // What is done with the sums, as TensorEngine::product does, for single columns.
  template <int kRows, int kColumns, class Column, class F>
  __device__ __forceinline__ static void finish(float (&c)[kRows][kColumns], Column column, F f) {
    const int row = threadIdx.x % 32 / 8;
    float result[kRows][kColumns];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) result[i][j] = f.pack(row + 4 * i, column(j), c[i][j]);
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j) f.store(row + 4 * i, column(j), result[i][j], c[i][j]);
  }
  template <int kRows, int kColumns, class Column, class F>
  __device__ __forceinline__ static void begin(float (&c)[kRows][kColumns], Column column, F f) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const float start = f.start_one(column(j));
#pragma unroll
      for (int i = 0; i < kRows; ++i) c[i][j] = start;
    }
  }

  // b [N, K]: four lanes of rows, eight of columns; both operands are read four along K at a time.
  template <int R, int K, int N, class F>
  __device__ __forceinline__ static void product_columns(const float* a, int lda, const float* b, int ldb, F f) {
    constexpr int kRows = 4 * R, kColumns = N / 8;
    const int lane = threadIdx.x % 32, row = lane / 8;
    const auto column = [&](int j) { return lane % 8 + 8 * j; };
    const float* right = b + column(0) * ldb;
    const float* left = a + row * lda;
    float c[kRows][kColumns];
    begin(c, column, f);
    constexpr int kAtOnce = kColumns <= 2 ? 8 : 2;  // few columns: the loads of several rounds are under way at once
#pragma unroll kAtOnce
    for (int k = 0; k < K; k += 4) {
      float4 x[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) x[i] = *reinterpret_cast<const float4*>(left + 4 * i * lda + k);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const float4 y = *reinterpret_cast<const float4*>(right + 8 * j * ldb + k);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          float sum = __fmaf_rn(x[i].x, y.x, c[i][j]);
          sum = __fmaf_rn(x[i].y, y.y, sum);
          sum = __fmaf_rn(x[i].z, y.z, sum);
          c[i][j] = __fmaf_rn(x[i].w, y.w, sum);
        }
      }
    }
    finish(c, column, f);
  }

  // b [K, N]: neighbouring lanes take neighbouring vectors of columns.
  template <int R, int K, int N, class F>
  __device__ __forceinline__ static void product_rows(const float* a, int lda, const float* b, int ldb, F f) {
    constexpr int kRows = 4 * R, kVector = vector<N>(), kTiles = N / 8 / kVector;
    const int lane = threadIdx.x % 32, row = lane / 8;
    const auto column = [&](int j) { return lane % 8 * kVector + 8 * kVector * (j / kVector) + j % kVector; };
    const float* left = a + row * lda;
    const float* right = b + column(0);
    float c[kRows][kTiles * kVector];
    begin(c, column, f);
#pragma unroll 2
    for (int k = 0; k < K; k += 4) {
      float x[kRows][4];
#pragma unroll
      for (int i = 0; i < kRows; ++i) load<4>(x[i], left + 4 * i * lda + k);
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          float y[kVector];
          load<kVector>(y, right + (k + q) * ldb + 8 * kVector * j);
#pragma unroll
          for (int i = 0; i < kRows; ++i)
#pragma unroll
            for (int v = 0; v < kVector; ++v) c[i][j * kVector + v] = __fmaf_rn(x[i][q], y[v], c[i][j * kVector + v]);
        }
    }
    finish(c, column, f);
  }
};

}  // namespace hotloop
