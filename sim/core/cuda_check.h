// SIM_CHECK_CUDA: every CUDA call goes through it. Included by .cu files only; empty in CPU builds.
#pragma once

#ifdef HOTLOOP_CUDA
#include <cuda_runtime.h>

#include <string>

#include "sim/core/error.h"

namespace hotloop {

inline void check_cuda(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ") in " +
              expression + " at " + file + ":" + std::to_string(line));
}

}  // namespace hotloop

#define SIM_CHECK_CUDA(expression) ::hotloop::check_cuda((expression), #expression, __FILE__, __LINE__)
#endif
