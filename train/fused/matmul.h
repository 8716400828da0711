// Matrix products of whole minibatches on tensor cores, for networks too wide for one block's shared memory: a block
// makes one tile of the result, its operands pass through shared memory in a ring that copies fill ahead. Numbers are
// of 16 bits, sums of 32.
#pragma once
#include "train/fused/tile_tensor.h"

namespace hotloop {

// 16 bytes from global to shared memory, in the background; zeros where there is nothing.
__device__ __forceinline__ void copy_chunk(unsigned to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all but the last kOpen groups of copies are there.
template <int kOpen>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
}

// Where chunk `chunk` (16 bytes) of `row` lies in a tile with kChunks to a row [chunks]: eight rows' chunks of one
// column are in eight different groups of banks.
template <int kChunks>
__device__ __forceinline__ int chunk_at(int row, int chunk) {
  constexpr int kRowsOfLine = kChunks >= 8 ? 1 : 8 / kChunks, kWays = kChunks >= 8 ? 8 : kChunks;
  return row * kChunks + (chunk ^ (row / kRowsOfLine % kWays));
}

// A row-major matrix in global memory. columns: a multiple of 8, and so is the stride.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t rows;
  int columns, stride;
};

// This thread's part in bringing tiles of kRows x (8 * kChunks) numbers of a matrix to shared memory: the same chunks
// of each tile, of which one is kSteps rows behind the other. Zeros beyond the matrix.
template <int kRows, int kChunks, int kThreads, class T>
struct TileCopy {
  static constexpr int kSteps = kThreads / kChunks, kCopies = (kRows + kSteps - 1) / kSteps;
  static_assert(kThreads % kChunks == 0 && (kSteps % 8 == 0 || kCopies == 1));
  const T* from;
  std::int64_t rows;  // from this thread's first on
  int columns;        // from its chunk on
  int step, place;    // numbers between its rows; where its first chunk goes

  __device__ __forceinline__ TileCopy(const Matrix<T>& m, std::int64_t row, std::int64_t column) {
    const int r = static_cast<int>(threadIdx.x) / kChunks, c = static_cast<int>(threadIdx.x) % kChunks;
    from = m.data + (row + r) * m.stride + column + 8 * c;
    rows = m.rows - row - r;
    columns = m.columns - static_cast<int>(column) - 8 * c;
    step = kSteps * m.stride;
    place = 16 * chunk_at<kChunks>(r, c);
  }
  __device__ __forceinline__ void operator()(unsigned to) const {
    const T* at = from;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (kCopies * kSteps != kRows && static_cast<int>(threadIdx.x) / kChunks >= kRows) break;
      const bool there = columns > 0 && i * kSteps < rows;
      copy_chunk(to + place + 16 * kChunks * kSteps * i, there ? at : from, there);
      at += step;
    }
  }
  __device__ __forceinline__ void down(int by) { from += static_cast<std::int64_t>(by) * (step / kSteps), rows -= by; }
  __device__ __forceinline__ void right(int by) { from += by, columns -= by; }
};

// One operand's part of a stage. Sums run along the operand's rows, or, kAcross, across them.
template <bool kAcross, int kTile, int kDepth>
struct OperandTile {
  static constexpr int kRows = kAcross ? kDepth : kTile, kChunks = (kAcross ? kTile : kDepth) / 8;
  static constexpr int kBytes = 16 * kRows * kChunks;

  // Copies of tiles of the block's part, which begins at row (column, if kAcross) `tile`.
  template <int kThreads, class T>
  struct Copy : TileCopy<kRows, kChunks, kThreads, T> {
    __device__ __forceinline__ Copy(const Matrix<T>& m, std::int64_t tile, std::int64_t depth)
        : TileCopy<kRows, kChunks, kThreads, T>(m, kAcross ? depth : tile, kAcross ? tile : depth) {}
    __device__ __forceinline__ void next() {
      if constexpr (kAcross)
        this->down(kDepth);
      else
        this->right(kDepth);
    }
  };
  // Fragments of mma.m16n8k16 at (m, k) of the left, (n, k) of the right operand: the latter of 16 columns.
  __device__ __forceinline__ static void left(std::uint32_t (&r)[4], unsigned from, int m, int k) {
    const int lane = threadIdx.x % 32;
    if constexpr (kAcross)
      load_tiles<true>(r, from + 16 * chunk_at<kChunks>(k + lane % 8 + lane / 16 * 8, m / 8 + lane / 8 % 2));
    else
      load_tiles<false>(r, from + 16 * chunk_at<kChunks>(m + lane % 16, k / 8 + lane / 16));
  }
  __device__ __forceinline__ static void right(std::uint32_t (&r)[4], unsigned from, int n, int k) {
    const int lane = threadIdx.x % 32;
    if constexpr (kAcross)
      load_tiles<true>(r, from + 16 * chunk_at<kChunks>(k + lane % 16, n / 8 + lane / 16));
    else
      load_tiles<false>(r, from + 16 * chunk_at<kChunks>(n + lane % 8 + lane / 16 * 8, k / 8 + lane / 8 % 2));
  }
};

// A block's kM x kN tile of left * right; each warp makes kWarpM x kWarpN of it.
template <class T, bool kLeftAcross, bool kRightAcross, int kM, int kN, int kWarpM, int kWarpN>
struct Matmul {
  static constexpr int kDepth = 32, kStages = 4;
  static constexpr int kWarpsM = kM / kWarpM, kWarps = kWarpsM * (kN / kWarpN), kThreads = 32 * kWarps;
  using Left = OperandTile<kLeftAcross, kM, kDepth>;
  using Right = OperandTile<kRightAcross, kN, kDepth>;
  static constexpr int kStageBytes = Left::kBytes + Right::kBytes, kRingBytes = kStages * kStageBytes;

  float sums[kWarpM / 16][kWarpN / 8][4];
  float left_sums[kWarpM / 16][4];  // of the left operand's rows alone, where they were asked for
  int warp, first_m, first_n;       // of the warp's part in the tile

  __device__ __forceinline__ Matmul()
      : warp(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0)),
        first_m(warp % kWarpsM * kWarpM),
        first_n(warp / kWarpsM * kWarpN) {}

  // Sums over [begin, end) of the depth, begin a multiple of kDepth; those of a column of the tile begin at
  // start(column). ring: kRingBytes of shared memory, free when all threads are through with it. kLeftSums: gather
  // left_sums too, if `gather`.
  template <bool kLeftSums = false, class Start>
  __device__ __forceinline__ void run(unsigned ring, const Matrix<T>& left, std::int64_t m, const Matrix<T>& right,
                                      std::int64_t n, std::int64_t begin, std::int64_t end, const Start& start,
                                      bool gather = false) {
#pragma unroll
    for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
      for (int c = 0; c < 4; ++c) left_sums[i][c] = 0.0f;
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j) {
      const int column = first_n + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2;
      const float first = start(column), second = start(column + 1);
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
        sums[i][j][0] = sums[i][j][2] = first, sums[i][j][1] = sums[i][j][3] = second;
    }
    typename Left::template Copy<kThreads, T> copy_left(left, m, begin);
    typename Right::template Copy<kThreads, T> copy_right(right, n, begin);
    const auto stages = static_cast<int>((end - begin + kDepth - 1) / kDepth);
    const auto fetch = [&](unsigned to, int s) {
      if (s < stages) {
        copy_left(to), copy_right(to + Left::kBytes);
        copy_left.next(), copy_right.next();
      }
      close_copies();
    };
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) fetch(ring + s * kStageBytes, s);
    unsigned now = ring, free = ring + (kStages - 1) * kStageBytes;
    const auto next = [&](unsigned at) { return at == ring + (kStages - 1) * kStageBytes ? ring : at + kStageBytes; };
#pragma unroll 1
    for (int s = 0; s < stages; ++s) {
      wait_copies<kStages - 2>();
      __syncthreads();  // this stage is there for all, and all are through with the one that is filled next
      fetch(free, s + kStages - 1);
      multiply<kLeftSums>(now, gather);
      now = next(now), free = next(free);
    }
    wait_copies<0>();
    __syncthreads();
  }

  // f(row, column, v0, v1) for each pair of neighbouring columns that this lane holds, in the tile's coordinates.
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
    const int lane = threadIdx.x % 32, row = first_m + lane / 4, column = first_n + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int j = 0; j < kWarpN / 8; ++j)
          f(row + 16 * i + 8 * h, column + 8 * j, sums[i][j][2 * h], sums[i][j][2 * h + 1]);
  }

 private:
  template <bool kLeftSums>
  __device__ __forceinline__ void multiply(unsigned at, bool gather) {
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      std::uint32_t a[kWarpM / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i) Left::left(a[i], at, first_m + 16 * i, k);
#pragma unroll
      for (int j = 0; j < kWarpN; j += 16) {
        std::uint32_t b[4];
        Right::right(b, at + Left::kBytes, first_n + j, k);
#pragma unroll
        for (int i = 0; i < kWarpM / 16; ++i) {
          multiply_add(T{}, sums[i][j / 8], a[i], b[0], b[1]);
          multiply_add(T{}, sums[i][j / 8 + 1], a[i], b[2], b[3]);
        }
      }
      if constexpr (kLeftSums) {
        if (!gather) continue;
#pragma unroll
        for (int i = 0; i < kWarpM / 16; ++i) multiply_add(T{}, left_sums[i], a[i], T::kOnes, T::kOnes);
      }
    }
  }
};

}  // namespace hotloop
