// A group of lanes works on one world together. SerialGroup plays all lanes in turn on one CPU thread; DeviceGroup is L
// threads of a warp (or a block). What one call writes to shared memory every lane sees in the next. No standard
// header is included: run-time compiled kernels use this file too.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

// Parents before children: node i's parent has a smaller index. The same tree for both backends.
struct Tree {
  int n;              // nodes
  int rounds;         // 2^rounds >= depth
  int levels;         // depth
  const int* parent;  // [n] -1 at a root
  const int* jump;    // [rounds][n] ancestor 2^r steps up, -1 where there is none
  const int* level;   // [levels + 1] first entry of each level in `order`
  const int* order;   // [n] nodes by level
};

// A group of L lanes on the CPU: one thread that plays all lanes in turn.
template <int L>
struct SerialGroup {
  static constexpr int kLanes = L;
  static constexpr bool kSerial = true;

  // f(i) for each i in [0, n), lane i % L doing index i.
  template <class F>
  SIM_HD void for_each(int n, F f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  // Where the groups of a block wait for each other: nothing depends on it but time. Code that is larger than an
  // instruction cache runs faster where all warps are at the same place.
  SIM_HD void meet() const {}
  // f() on one lane.
  template <class F>
  SIM_HD void once(F f) const {
    f();
  }
  SIM_HD void sync() const {}
  // The sum of f(i) over [0, n) on every lane; scratch is T[L] in shared memory. Lane l sums i = l, l + L, ... in
  // order, then a binary tree joins the lanes: the same additions on both backends.
  template <class T, class F>
  SIM_HD T sum(int n, T* scratch, F f) const {
    for (int lane = 0; lane < L; ++lane) {
      T total{};
      for (int i = lane; i < n; i += L) total = total + f(i);
      scratch[lane] = total;
    }
    for (int half = L / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) scratch[lane] = scratch[lane] + scratch[lane + half];
    return scratch[0];
  }
  // The sum of f(i) over [0, n) on every lane, in an order that the backend and L fix. L <= 32.
  template <class T, class F>
  SIM_HD T reduce(int n, F f) const {
    T total{};
    for (int i = 0; i < n; ++i) total = total + f(i);
    return total;
  }
  // Is f(i) true for any i in [0, n)?
  template <class F>
  SIM_HD bool any(int n, F f) const {
    for (int i = 0; i < n; ++i)
      if (f(i)) return true;
    return false;
  }
  // make(i) gives an item with a member `count` in [0, 2^Bits); emit(i, item, first) follows, where `first` is the sum
  // of the counts before i. Returns the sum of all counts.
  template <int Bits, class Make, class Emit>
  SIM_HD int append(int n, Make make, Emit emit) const {
    int total = 0;
    for (int i = 0; i < n; ++i) {
      const auto item = make(i);
      if (item.count > 0) emit(i, item, total);
      total += item.count;
    }
    return total;
  }
  // Products along a tree from the root: afterwards value(i) = combine(value(parent), value(i)) for every node, in
  // terms of load(i) and store(i, value). combine must be associative.
  template <class Load, class Combine, class Store>
  SIM_HD void scan_down(const Tree& tree, Load load, Combine combine, Store store) const {
    for (int i = 0; i < tree.n; ++i)
      if (tree.parent[i] >= 0) store(i, combine(load(tree.parent[i]), load(i)));
  }
};

#ifdef __CUDACC__

// The value of the lane whose number differs in the bits of `lanes`. Types made of several numbers overload it.
template <class T>
__device__ __forceinline__ T shuffle_xor(unsigned mask, T value, int lanes) {
  return __shfl_xor_sync(mask, value, lanes);
}

// L lanes of one warp (L <= 32), or a whole block (L > 32: for_each, once and sum only).
template <int L>
struct DeviceGroup {
  static constexpr int kLanes = L;
  static constexpr bool kSerial = false;
  int lane;

  __device__ __forceinline__ unsigned mask() const {
    // a group of fewer lanes than a warp waits for its own lanes only: its neighbours may be elsewhere
    if constexpr (L < 32)
      return ((1u << L) - 1u) << (threadIdx.x % 32 / L * L);
    else
      return 0xffffffffu;
  }
  __device__ __forceinline__ void sync() const {
    if constexpr (L <= 32)
      __syncwarp(mask());
    else
      __syncthreads();
  }
  __device__ __forceinline__ void meet() const { __syncthreads(); }
  template <class F>
  __device__ __forceinline__ void for_each(int n, F f) const {
#pragma unroll 1  // code size: a step's instructions hardly fit the caches
    for (int i = lane; i < n; i += L) f(i);
    sync();
  }
  template <class F>
  __device__ __forceinline__ void once(F f) const {
    if (lane == 0) f();
    sync();
  }
  template <class T, class F>
  __device__ __forceinline__ T sum(int n, T* scratch, F f) const {
    T total{};
    for (int i = lane; i < n; i += L) total = total + f(i);
    scratch[lane] = total;
    sync();
    for (int half = L / 2; half > 0; half /= 2) {
      if (lane < half) scratch[lane] = scratch[lane] + scratch[lane + half];
      sync();
    }
    const T result = scratch[0];
    sync();  // the caller may use scratch again
    return result;
  }
  template <class T, class F>
  __device__ __forceinline__ T reduce(int n, F f) const {
    static_assert(L <= 32);
    T total{};
#pragma unroll 1
    for (int i = lane; i < n; i += L) total = total + f(i);
#pragma unroll
    for (int half = L / 2; half > 0; half /= 2) total = total + shuffle_xor(mask(), total, half);
    return total;
  }
  template <class F>
  __device__ __forceinline__ bool any(int n, F f) const {
    static_assert(L <= 32);
    bool found = false;
#pragma unroll 1
    for (int i = lane; i < n; i += L) found = found || f(i);
    return __any_sync(mask(), found);
  }
  template <int Bits, class Make, class Emit>
  __device__ __forceinline__ int append(int n, Make make, Emit emit) const {
    static_assert(L <= 32);
    const unsigned shift = threadIdx.x % 32 / L * L;
    const unsigned before = (1u << lane) - 1u;
    int total = 0;
#pragma unroll 1
    for (int start = 0; start < n; start += L) {
      const int i = start + lane;
      auto item = make(i < n ? i : n - 1);  // a lane beyond the end repeats the last index and drops the result
      if (i >= n) item.count = 0;
      int first = total;
#pragma unroll
      for (int bit = 0; bit < Bits; ++bit) {
        const unsigned set = __ballot_sync(mask(), (item.count >> bit & 1) != 0) >> shift;
        const unsigned own = L < 32 ? set & ((1u << (L & 31)) - 1u) : set;
        first += __popc(own & before) << bit;
        total += __popc(own) << bit;
      }
      if (item.count > 0) emit(i, item, first);
    }
    sync();
    return total;
  }
  template <class Load, class Combine, class Store>
  __device__ __forceinline__ void scan_down(const Tree& tree, Load load, Combine combine, Store store) const {
    if (tree.n <= L) {  // pointer doubling: every node at once, log2(depth) rounds
      const int i = lane < tree.n ? lane : tree.n - 1;
      auto value = load(i);
#pragma unroll 1
      for (int r = 0; r < tree.rounds; ++r) {
        const int from = tree.jump[r * tree.n + i];
        const auto above = load(from >= 0 ? from : i);
        sync();
        if (from >= 0) value = combine(above, value);
        if (lane < tree.n) store(i, value);
        sync();
      }
      return;
    }
    for (int d = 1; d < tree.levels; ++d) {
      for (int k = tree.level[d] + lane; k < tree.level[d + 1]; k += L) {
        const int i = tree.order[k];
        store(i, combine(load(tree.parent[i]), load(i)));
      }
      sync();
    }
  }
};

#endif  // __CUDACC__

}  // namespace hotloop
