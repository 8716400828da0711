// SIM_HD marks a function for host and device; one source serves the CPU loops and the CUDA kernels.
#pragma once
#ifndef __CUDACC_RTC__
#include <utility>
#endif

#if defined(__CUDACC__)
#define SIM_HD __host__ __device__ __forceinline__
#else
#define SIM_HD inline __attribute__((always_inline))
#endif

namespace hotloop {

// Calls f(0) ... f(N - 1) without a loop: an inner loop would keep the compiler from vectorising the loop over worlds
// around it, and arrays indexed by a variable from living in registers.
template <int N, class F>
SIM_HD void unrolled(F f) {
#ifdef __CUDACC_RTC__  // the run-time compiler has no standard library
#pragma unroll
  for (int k = 0; k < N; ++k) f(k);
#else
  if constexpr (N <= 64) {
    [&]<int... k>(std::integer_sequence<int, k...>) { (f(k), ...); }
    (std::make_integer_sequence<int, N>{});
  } else {
    for (int k = 0; k < N; ++k) f(k);
  }
#endif
}

}  // namespace hotloop
