// One number of every constraint, held where it is used: on the GPU index i in [0, 2 L) in a register of lane i % L of
// a group of L lanes, on the CPU in an array that has room for as many as the largest group's.
#pragma once
#include "sim/core/group.h"

namespace hotloop {

template <class G, class T>
struct LaneValues;

inline constexpr int kMostLaneValues = 64;

template <int L, class T>
struct LaneValues<SerialGroup<L>, T> {
  T values[kMostLaneValues] = {};
  SIM_HD T get(int i) const { return values[i]; }
  SIM_HD void set(int i, T value) { values[i] = value; }
};

// f(i) for each index below n, on its lane; other than for_each this writes only what the lane itself reads next.
template <int L, class F>
SIM_HD void each_own(const SerialGroup<L>&, int n, F f) {
  for (int i = 0; i < n; ++i) f(i);
}
// f(i) as the lane of index i sees it, on every lane. f is called on all lanes, each with an index of its own.
template <int L, class F>
SIM_HD auto from_owner(const SerialGroup<L>&, int i, F f) {
  return f(i);
}

#ifdef __CUDACC__

template <int L, class T>
struct LaneValues<DeviceGroup<L>, T> {
  T low = {}, high = {};
  __device__ __forceinline__ T get(int i) const { return i < L ? low : high; }
  __device__ __forceinline__ void set(int i, T value) {
    if (i < L)
      low = value;
    else
      high = value;
  }
};

template <int L, class F>
__device__ __forceinline__ void each_own(const DeviceGroup<L>& g, int n, F f) {
  if (g.lane < n) f(g.lane);
  if (n > L && g.lane + L < n) f(g.lane + L);
}
template <int L, class F>
__device__ __forceinline__ auto from_owner(const DeviceGroup<L>& g, int i, F f) {
  const auto own = f(i < L ? g.lane : g.lane + L);
  return __shfl_sync(g.mask(), own, i % L, L);
}

#endif  // __CUDACC__

}  // namespace hotloop
