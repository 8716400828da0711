// The only place that runs work on a device: parallel_for (one call an index), parallel_groups (one call a group of
// lanes with shared memory), tree_sum, and launch_blocks for kernels of cards alone. On the CPU they are loops over the
// thread pool; compiled by nvcc they are kernels. Include it in .cu files only: those are CUDA where there is a toolkit
// and plain C++ where there is none.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>

#include "sim/core/cuda_check.h"
#include "sim/core/device.h"
#include "sim/core/group.h"
#include "sim/core/hd.h"
#include "sim/core/thread_pool.h"

#if defined(HOTLOOP_CUDA) && !defined(__CUDACC__)
#error "launch.h belongs in .cu files: a .cpp file that includes it would have no kernels"
#endif

namespace hotloop {

// Lane counts above a warp take the whole block.
constexpr int groups_per_block(int lanes) { return lanes >= 32 ? std::max(1, 64 / lanes) : 64 / lanes; }

#ifdef __CUDACC__

template <class Op>
__global__ void for_kernel(std::int64_t n, Op op) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) op(i);
}

template <int L, class Op>
__global__ void group_kernel(std::int64_t n, Op op) {
  constexpr int kGroups = groups_per_block(L);
  __shared__ alignas(16) typename Op::Shared shared[kGroups];
  const int group = threadIdx.x / L;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kGroups + group;
  if (i < n) op(DeviceGroup<L>{static_cast<int>(threadIdx.x % L)}, i, shared[group]);
}

extern __shared__ uint4 dynamic_shared[];

template <int L, class Op>
__global__ void __launch_bounds__(32, Op::kMinBlocks)
    warp_kernel(const __grid_constant__ Op op, std::int64_t n, std::size_t bytes) {
  const int group = threadIdx.x / L;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (32 / L) + group;
  if (i < n)
    op(DeviceGroup<L>{static_cast<int>(threadIdx.x % L)}, i,
       reinterpret_cast<std::byte*>(dynamic_shared) + group * bytes);
}

// Op has kThreads, kMinBlocks and kBytes (of shared memory, 16-byte aligned).
template <class Op>
__global__ void __launch_bounds__(Op::kThreads, Op::kMinBlocks) block_kernel(const __grid_constant__ Op op) {
  op(reinterpret_cast<std::byte*>(dynamic_shared));
}

inline void check_launch(const Exec& exec, const char* name) {
  SIM_CHECK_CUDA(cudaGetLastError());
  static const bool debug = std::getenv("HOTLOOP_DEBUG_SYNC") != nullptr;
  if (!debug) return;
  const cudaError_t status = cudaStreamSynchronize(static_cast<cudaStream_t>(exec.stream));
  check_cuda(status, name, __FILE__, __LINE__);
}

inline unsigned grid_size(std::int64_t n, int per_block) {
  const std::int64_t blocks = (n + per_block - 1) / per_block;
  if (blocks > 0x7fffffff) throw std::logic_error("launch: too many blocks");
  return static_cast<unsigned>(blocks);
}

// Calls op(shared memory) in every thread of a grid, for work that only a card does. Op: see block_kernel.
template <class Op>
void launch_blocks(const Exec& exec, dim3 grid, const Op& op) {
  if (grid.x == 0) return;
  const auto kernel = &block_kernel<Op>;
  if constexpr (Op::kBytes > 48 * 1024) {
    SIM_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Op::kBytes));
    SIM_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  }
  kernel<<<grid, Op::kThreads, Op::kBytes, static_cast<cudaStream_t>(exec.stream)>>>(op);
  check_launch(exec, __PRETTY_FUNCTION__);
}

#endif  // __CUDACC__

// Calls op(i) for each i in [0, n), in any order, ordered on exec.
template <class Op>
void parallel_for(const Exec& exec, std::int64_t n, const Op& op, int block = 128) {
  if (n <= 0) return;
#ifdef __CUDACC__
  if (exec.device.is_cuda()) {
    for_kernel<<<grid_size(n, block), block, 0, static_cast<cudaStream_t>(exec.stream)>>>(n, op);
    check_launch(exec, __PRETTY_FUNCTION__);
    return;
  }
#endif
  (void)block;
  for_ranges(exec, n, 512, [&](std::int64_t begin, std::int64_t end) {
    const Op local = op;  // a copy: what op writes cannot alias it
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) local(i);
  });
}

// Calls op(group, i, shared) for each i in [0, n): L lanes (a power of two, at most 1024) and one Op::Shared each.
template <int L, class Op>
void parallel_groups(const Exec& exec, std::int64_t n, const Op& op) {
  static_assert((L & (L - 1)) == 0 && L <= 1024);
  if (n <= 0) return;
#ifdef __CUDACC__
  if (exec.device.is_cuda()) {
    constexpr int kGroups = groups_per_block(L);
    group_kernel<L><<<grid_size(n, kGroups), kGroups * L, 0, static_cast<cudaStream_t>(exec.stream)>>>(n, op);
    check_launch(exec, __PRETTY_FUNCTION__);
    return;
  }
#endif
  for_ranges(exec, n, 16, [&](std::int64_t begin, std::int64_t end) {
    typename Op::Shared shared;
    for (std::int64_t i = begin; i < end; ++i) op(SerialGroup<L>{}, i, shared);
  });
}

// Calls op(group, i, memory) for each i in [0, n): L <= 32 lanes and `bytes` of shared memory (16-byte aligned) each.
// One warp a block: groups of a warp that finish early free their block. Op::kMinBlocks: blocks that should fit on a
// multiprocessor, which bounds the registers.
template <int L, class Op>
void parallel_warps(const Exec& exec, std::int64_t n, std::size_t bytes, const Op& op) {
  static_assert((L & (L - 1)) == 0 && L <= 32);
  if (n <= 0) return;
  bytes = (bytes + 15) / 16 * 16;
#ifdef __CUDACC__
  if (exec.device.is_cuda()) {
    const std::size_t block_bytes = bytes * (32 / L);
    const auto kernel = &warp_kernel<L, Op>;
    SIM_CHECK_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(block_bytes)));
    SIM_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    kernel<<<grid_size(n, 32 / L), 32, block_bytes, static_cast<cudaStream_t>(exec.stream)>>>(op, n, bytes);
    check_launch(exec, __PRETTY_FUNCTION__);
    return;
  }
#endif
  serial_worlds(exec, n, bytes, [&](std::int64_t i, std::byte* memory) { op(SerialGroup<L>{}, i, memory); });
}

inline constexpr int kSumLanes = 256;
inline constexpr std::int64_t kSumChunk = 4096;

// Elements of scratch that tree_sum needs for n terms.
inline std::int64_t tree_sum_scratch(std::int64_t n, std::int64_t chunk = kSumChunk) {
  return std::max<std::int64_t>(1, (n + chunk - 1) / chunk);
}

template <class T, class F>
struct TreeSumOp {
  struct Shared {
    T lanes[kSumLanes];
  };
  std::int64_t n, chunk;
  F term;
  T* out;

  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t i, Shared& shared) const {
    const std::int64_t begin = i * chunk;
    const std::int64_t end = begin + chunk < n ? begin + chunk : n;
    const T total = group.sum(static_cast<int>(end - begin), shared.lanes, [&](int k) { return term(begin + k); });
    group.once([&] { out[i] = total; });
  }
};

template <class T>
struct PartialSum {
  const T* partials;
  SIM_HD T operator()(std::int64_t i) const { return partials[i]; }
};

// *out = sum of term(i) over [0, n), by a tree that depends on n and chunk alone: chunks, 256 lanes each, then the
// chunks. T needs T{} == zero and operator+; term may also write what belongs to index i. A smaller chunk spreads
// costly terms over more of the card. scratch: tree_sum_scratch(n, chunk) elements on exec's device.
template <class T, class F>
void tree_sum(const Exec& exec, std::int64_t n, const F& term, T* scratch, T* out, std::int64_t chunk = kSumChunk) {
  const std::int64_t chunks = tree_sum_scratch(n, chunk);
  if (chunks == 1) {
    parallel_groups<kSumLanes>(exec, 1, TreeSumOp<T, F>{n, chunk, term, out});
    return;
  }
  parallel_groups<kSumLanes>(exec, chunks, TreeSumOp<T, F>{n, chunk, term, scratch});
  parallel_groups<kSumLanes>(exec, 1, TreeSumOp<T, PartialSum<T>>{chunks, chunks, {scratch}, out});
}

}  // namespace hotloop
