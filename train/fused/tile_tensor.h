// Matrix products of one warp on tensor cores (mma.sync m16n8k16, compute capability 8.0 and later): operands of 16
// bits in shared memory, fp32 accumulation. See Engine in net_pass.h for what an engine offers.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"
#include "train/fused/number.h"

namespace hotloop {

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Four 8 x 8 tiles of 16-bit numbers; lane i gives the address of row i % 8 of tile i / 8. Register k receives tile k:
// lane l holds the numbers 2 * (l % 4) and the next of row l / 4, or, transposed, of column l / 4.
template <bool kTransposed>
__device__ __forceinline__ void load_tiles(std::uint32_t (&r)[4], unsigned address) {
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// The first two of them, transposed.
__device__ __forceinline__ void load_two_tiles(std::uint32_t (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}

// c (16 x 8) += a (16 x 16) * b (16 x 8). Lane l holds of c the columns 2 * (l % 4) and the next of rows l / 4 (c[0],
// c[1]) and l / 4 + 8 (c[2], c[3]).
__device__ __forceinline__ void multiply_add(Fp16Bits, float* c, const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void multiply_add(Bf16Bits, float* c, const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <class T>
struct TensorEngine {
  static constexpr int kDepthUnit = 16, kBreadthUnit = 16;
  static constexpr int kPad = 8;  // of a row in shared memory [numbers]: neighbouring rows start in other banks

  // Pairs of neighbouring numbers of 16 * R rows and N columns in registers: of row tile r, eighth n of the columns and
  // half h of the rows, as a product leaves them and the next one takes them.
  template <int R, int N>
  struct Rows {
    std::uint32_t v[R][N / 8][2];
  };

  // Where a product's left rows come from.
  template <int R, int K>
  struct FromRows {
    const Rows<R, K>& rows;
    __device__ __forceinline__ void load(int r, int k, std::uint32_t (&left)[4]) const {
      left[0] = rows.v[r][k / 8][0], left[1] = rows.v[r][k / 8][1];
      left[2] = rows.v[r][k / 8 + 1][0], left[3] = rows.v[r][k / 8 + 1][1];
    }
  };
  struct FromMemory {
    unsigned address;
    int stride;
    __device__ __forceinline__ FromMemory(const T* a, int lda)
        : address(shared_address(a + threadIdx.x % 16 * lda + threadIdx.x % 32 / 16 * 8)), stride(lda) {}
    __device__ __forceinline__ void load(int r, int k, std::uint32_t (&left)[4]) const {
      load_tiles<false>(left, address + 2 * (16 * r * stride + k));
    }
  };

  // 16 * R rows of K columns times b [N, K]^T (b [K, N] if kTransposed). For every pair of columns: the sum begins at
  // f.start(column), f.pack makes a result of it, and once all results are made f.store keeps it: all of one kind at
  // once, as a store would hold up later loads.
  template <int R, int K, int N, bool kTransposed, class A, class F>
  __device__ __forceinline__ static Rows<R, N> product_of(const A& a, const T* b, int ldb, F f) {
    const int lane = threadIdx.x % 32;
    const int low = lane % 8 + lane / 16 * 8, high = lane / 8 % 2 * 8;
    const unsigned b_address =
        kTransposed ? shared_address(b + (lane % 16) * ldb + lane / 16 * 8) : shared_address(b + low * ldb + high);
    const int row = lane / 4, column = lane % 4 * 2;
    float c[R][N / 8][4];
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
      const float2 start = f.start(8 * n + column);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        c[r][n][0] = c[r][n][2] = start.x;
        c[r][n][1] = c[r][n][3] = start.y;
      }
    }
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      std::uint32_t left[R][4];
#pragma unroll
      for (int r = 0; r < R; ++r) a.load(r, k, left[r]);
#pragma unroll
      for (int n = 0; n < N; n += 16) {
        std::uint32_t right[4];
        load_tiles<kTransposed>(right, b_address + 2 * (kTransposed ? k * ldb + n : n * ldb + k));
#pragma unroll
        for (int r = 0; r < R; ++r) {
          multiply_add(T{}, c[r][n / 8], left[r], right[0], right[1]);
          multiply_add(T{}, c[r][n / 8 + 1], left[r], right[2], right[3]);
        }
      }
    }
    Rows<R, N> result;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          result.v[r][n][h] = f.pack(r, n, h, 16 * r + row + 8 * h, 8 * n + column, c[r][n][2 * h], c[r][n][2 * h + 1]);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          f.store(16 * r + row + 8 * h, 8 * n + column, result.v[r][n][h], c[r][n][2 * h], c[r][n][2 * h + 1]);
    return result;
  }

  template <int R, int K, int N, bool kTransposed, class F>
  __device__ __forceinline__ static void product(const T* a, int lda, const T* b, int ldb, F f) {
    product_of<R, K, N, kTransposed>(FromMemory(a, lda), b, ldb, f);
  }

  // acc += a^T b over kRows rows, for kUnits times 16 columns of a, kStep apart, and N of b; acc [kUnits][N / 8][4],
  // and with kBias another 4 a unit: the sums of a's columns.
  template <int kRows, int N, bool kBias, int kUnits, int kStep>
  __device__ __forceinline__ static void outer(float* acc, const T* a, int lda, const T* b, int ldb) {
    constexpr int kUnit = N / 2 + (kBias ? 4 : 0);
    const int lane = threadIdx.x % 32;
    const unsigned a_address = shared_address(a + (lane % 8 + lane / 16 * 8) * lda + lane / 8 % 2 * 8);
    const unsigned b_address = shared_address(b + (lane % 16) * ldb + lane / 16 * 8);
#pragma unroll 4
    for (int k = 0; k < kRows; k += 16) {
      std::uint32_t left[kUnits][4];
#pragma unroll
      for (int u = 0; u < kUnits; ++u) load_tiles<true>(left[u], a_address + 2 * (k * lda + kStep * u));
#pragma unroll
      for (int n = 0; n < N; n += 16) {
        std::uint32_t right[4] = {};
        if (n + 8 < N)
          load_tiles<true>(right, b_address + 2 * (k * ldb + n));
        else
          load_two_tiles(right, b_address + 2 * (k * ldb + n));
#pragma unroll
        for (int u = 0; u < kUnits; ++u) {
          multiply_add(T{}, acc + u * kUnit + n / 8 * 4, left[u], right[0], right[1]);
          if (n + 8 < N) multiply_add(T{}, acc + u * kUnit + (n / 8 + 1) * 4, left[u], right[2], right[3]);
        }
      }
      if constexpr (kBias) {
#pragma unroll
        for (int u = 0; u < kUnits; ++u) multiply_add(T{}, acc + u * kUnit + N / 8 * 4, left[u], T::kOnes, T::kOnes);
      }
    }
  }

  // f(m, n, i, j) for every pair of neighbouring columns n, n + 1 of row m that outer() gathered: in acc[i] and acc[j].
  template <int N, class F>
  __device__ __forceinline__ static void each_outer(F f) {
    const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
      f(row, 8 * n + column, 4 * n, 4 * n + 1);
      f(row + 8, 8 * n + column, 4 * n + 2, 4 * n + 3);
    }
  }
  // f(m, v, i) for the bias part: v in acc[i].
  template <int N, class F>
  __device__ __forceinline__ static void each_bias(const float* acc, F f) {
    const int lane = threadIdx.x % 32;
    if (lane % 4 != 0) return;
    f(lane / 4, acc[N / 8 * 4], N / 8 * 4);
    f(lane / 4 + 8, acc[N / 8 * 4 + 2], N / 8 * 4 + 2);
  }
};

}  // namespace hotloop
