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

class SpecialKernel {
 public:
  // Compiles, or takes from the cache. Error where the compiler is missing or refuses. CUDA devices only.
  static std::shared_ptr<const SpecialKernel> get(const SpecialKernelSource& source, Device device);

  // lanes: of a world, at most 32; bytes: of shared memory for each world; args: passed by value.
  template <class Args>
  void launch(const Exec& exec, std::int64_t worlds, int lanes, std::size_t bytes, const Args& args) const {
    launch_raw(exec, worlds, lanes, bytes, const_cast<Args*>(&args));
  }
  bool from_cache() const { return from_cache_; }
  double seconds() const { return seconds_; }  // that get took

 private:
  void launch_raw(const Exec& exec, std::int64_t worlds, int lanes, std::size_t bytes, void* args) const;
  void* kernel_ = nullptr;  // cudaKernel_t
  bool from_cache_ = false;
  double seconds_ = 0;
};

// The text around a kernel's body: includes, the model's constants, the kernel. Args has a Model<float> `model`; its
// run<N>(group, world, memory, model, layout) does the work; bound: N; bytes: shared memory of a world.
std::string special_kernel_code(const std::string& includes, const std::string& model, const std::string& args_type,
                                int lanes, int bound, std::size_t bytes);

}  // namespace hotloop
