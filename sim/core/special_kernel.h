// Kernels specialised to one model or one network, compiled at run time by NVRTC from sources that the program carries,
// and kept as cubins on disk (HOTLOOP_CACHE, else the user's cache folder). A cubin is found by a hash of everything it
// is made of; one that is damaged or foreign is made anew.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "sim/core/embedded_sources.h"

namespace hotloop {

struct SpecialKernelSource {
  std::string code;  // defines extern "C" __global__ void special_kernel(...)
  std::string name;  // for messages
  // exact: as the program's own kernels, without contraction and with IEEE division; else as fast as it gets.
  bool exact = false;
  const std::vector<EmbeddedSource>* headers = nullptr;  // that it includes beside those of sim
};

// How worlds share a card: a block has `warps` warps, each of 32 / lanes worlds.
struct KernelShape {
  int lanes, warps, blocks;  // blocks: that should fit on a multiprocessor at a time, which bounds the registers
  std::size_t bytes;         // of shared memory for each world
};
// together: several warps a block, as many as occupy the multiprocessor best; else one. CUDA devices only.
KernelShape kernel_shape(Device device, int lanes, std::size_t bytes, bool together);

struct KernelGrid {
  int blocks, threads;
  std::size_t shared;  // bytes of each block
  bool cooperative;
};

class SpecialKernel {
 public:
  // Compiles, or takes from the cache. Error where the compiler is missing or refuses. CUDA devices only.
  static std::shared_ptr<const SpecialKernel> get(const SpecialKernelSource& source, Device device);

  // As get does, without loading: the cubin for a compute capability such as 80. What it would take on a card that is
  // not there.
  static std::string compile(const SpecialKernelSource& source, int capability);

  // The code's kernel takes (Args, long long worlds). shape: that of the code; args: passed by value.
  template <class Args>
  void launch(const Exec& exec, std::int64_t worlds, const KernelShape& shape, const Args& args) const {
    launch_raw(exec, worlds, shape, const_cast<Args*>(&args));
  }
  // The code's kernel takes (Args). cooperative: all blocks run at the same time, or the launch is an Error.
  template <class Args>
  void launch_grid(const Exec& exec, const KernelGrid& grid, const Args& args) const {
    launch_grid_raw(exec, grid, const_cast<Args*>(&args));
  }
  bool from_cache() const { return from_cache_; }
  double seconds() const { return seconds_; }  // that get took

 private:
  void launch_raw(const Exec& exec, std::int64_t worlds, const KernelShape& shape, void* args) const;
  void launch_grid_raw(const Exec& exec, const KernelGrid& grid, void* args) const;
  [[maybe_unused]] void* kernel_ = nullptr;  // cudaKernel_t; only with CUDA
  bool from_cache_ = false;
  double seconds_ = 0;
};

}  // namespace hotloop
