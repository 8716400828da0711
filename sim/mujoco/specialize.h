// A model as source text: a type SpecialModel with the members of Model<float> whose sizes, options and arrays are
// constants, and SpecialLayout with those of WorldLayout. Kernels compiled with them at run time know every loop's
// length.
#pragma once
#include <string>

#include "sim/core/special_kernel.h"
#include "sim/mujoco/model_data.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// Error where a block of the device has too little shared memory for the worlds of one warp.
void check_room(const ModelData& data, Device device, std::size_t world_bytes);

// C++ source in namespace hotloop. A field that has a row for each world in `model` is no constant: SpecialModel's
// constructor takes its place from the kernel's argument.
std::string special_source(const ModelData& data, const WorldLayout& layout, const Model<float>& model);

// The text around a kernel's body: includes, the model's constants, the kernel. Args has a Model<float> `model`; its
// run<N>(group, world, memory, model, layout) does the work; bound: N.
std::string special_kernel_code(const std::string& includes, const std::string& model, const std::string& args_type,
                                int bound, const KernelShape& shape);

}  // namespace hotloop
