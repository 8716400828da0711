#include "train/generic/library.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include "train/generic/cuda_support.h"

namespace hotloop {
namespace {

void configure(Device device, Precision precision) {
  if (!device.is_cuda()) return;
  at::globalContext().lazyInitDevice(at::kCUDA);
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
}

}  // namespace
}  // namespace hotloop

extern "C" const hotloop::GenericLibrary* hotloop_generic_library() {
  static const hotloop::GenericLibrary library = {&hotloop::make_mlp,           &hotloop::make_mlp_double,
                                                  &hotloop::capture_graph,      &hotloop::configure,
                                                  [] { return TORCH_VERSION; }, &hotloop::torchscript_content};
  return &library;
}
