// What device code takes of CUDA, for a CPU compiler: lanes are fibers (block.h), intrinsics meetings of theirs. The
// first include of a file; it makes what follows see device code, so the standard headers that check for that come
// before.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/lanes/block.h"

#ifdef __CUDACC__
#error "for the CPU's compiler"
#endif
#define __CUDACC__ 1
#define __host__
#define __device__
#define __forceinline__ inline  // the compiler may share what many kernels have in common

namespace hotloop {

struct ThreadIndex {
  struct X {
    operator unsigned() const { return static_cast<unsigned>(running_lane()); }
  } x;
};

template <class T>
std::uint64_t lane_bits(T value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T lane_value(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace hotloop

inline const hotloop::ThreadIndex threadIdx;

inline void __syncthreads() { hotloop::meet_lanes(hotloop::Intrinsic::syncthreads, 0); }
inline void __syncwarp(unsigned mask) { hotloop::meet_lanes(hotloop::Intrinsic::syncwarp, mask); }
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  return static_cast<unsigned>(hotloop::meet_lanes(hotloop::Intrinsic::ballot, mask, vote ? 1 : 0));
}
inline int __any_sync(unsigned mask, bool vote) {
  return hotloop::meet_lanes(hotloop::Intrinsic::any, mask, vote ? 1 : 0) != 0 ? 1 : 0;
}
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int source = hotloop::running_lane() % 32 / width * width + from % width;
  return hotloop::lane_value<T>(hotloop::meet_lanes(hotloop::Intrinsic::shfl, mask, hotloop::lane_bits(value), source));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return hotloop::lane_value<T>(hotloop::meet_lanes(hotloop::Intrinsic::shfl_xor, mask, hotloop::lane_bits(value),
                                                    hotloop::running_lane() % 32 ^ lanes));
}
inline int __popc(unsigned bits) { return std::popcount(bits); }

#include "sim/core/group.h"

namespace hotloop {

// As the kernels do: f(group, world, memory) for each world, groups of L lanes, blocks of `warps` warps. memory:
// `bytes` for each group, 16-byte aligned, and NaN before the kernel starts; which NaN differs from order to order.
template <int L, class F>
void run_lanes(LaneOrder order, long long worlds, int warps, std::size_t bytes, F f) {
  const int threads = std::max(32 * warps, L), groups = threads / L;
  bytes = (bytes + 15) / 16 * 16;
  struct alignas(16) Line {
    std::uint32_t words[4];
  };
  std::vector<Line> shared(bytes / 16 * static_cast<std::size_t>(groups));
  const std::uint32_t nan = 0x7fc12340u + static_cast<std::uint32_t>(order);
  for (long long first = 0; first < worlds; first += groups) {
    std::fill(shared.begin(), shared.end(), Line{{nan, nan, nan, nan}});
    run_block(threads, order, [&] {
      const int group = running_lane() / L;
      if (first + group >= worlds) return;
      f(DeviceGroup<L>{running_lane() % L}, first + group,
        reinterpret_cast<std::byte*>(shared.data()) + static_cast<std::size_t>(group) * bytes);
    });
  }
}

}  // namespace hotloop
