// SIM_HD marks a function for host and device; one source serves the CPU loops and the CUDA kernels.
#pragma once

#if defined(__CUDACC__)
#define SIM_HD __host__ __device__ __forceinline__
#else
#define SIM_HD inline __attribute__((always_inline))
#endif
