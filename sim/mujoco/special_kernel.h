// Kernels specialised to one model, compiled at run time by NVRTC from sources that the program carries, and kept as
// cubins on disk (HOTLOOP_CACHE, else the user's cache folder). A cubin is found by a hash of everything it is made of;
// one that is damaged or foreign is made anew.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "sim/core/device.h"

namespace hotloop {

struct SpecialKernelSource {
  std::string code;  // defines extern "C" __global__ void special_kernel(Args, long long worlds)
  std::string name;  // for messages
};

// How worlds share a card: a block has `warps` warps, each of 32 / lanes worlds.
struct KernelShape {
  int lanes, warps, blocks;  // blocks: that should fit on a multiprocessor at a time, which bounds the registers
  std::size_t bytes;         // of shared memory for each world
};
// together: several warps a block, as many as occupy the multiprocessor best; else one. CUDA devices only.
KernelShape kernel_shape(Device device, int lanes, std::size_t bytes, bool together);

class SpecialKernel {
 public:
  // Compiles, or takes from the cache. Error where the compiler is missing or refuses. CUDA devices only.
  static std::shared_ptr<const SpecialKernel> get(const SpecialKernelSource& source, Device device);

  // shape: that of the code; args: passed by value.
  template <class Args>
  void launch(const Exec& exec, std::int64_t worlds, const KernelShape& shape, const Args& args) const {
    launch_raw(exec, worlds, shape, const_cast<Args*>(&args));
  }
  bool from_cache() const { return from_cache_; }
  double seconds() const { return seconds_; }  // that get took

 private:
  void launch_raw(const Exec& exec, std::int64_t worlds, const KernelShape& shape, void* args) const;
  [[maybe_unused]] void* kernel_ = nullptr;  // cudaKernel_t; only with CUDA
  bool from_cache_ = false;
  double seconds_ = 0;
};

}  // namespace hotloop
