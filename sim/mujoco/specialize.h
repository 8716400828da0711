// A model as source text: a type SpecialModel with the members of Model<float> whose sizes, options and arrays are
// constants, and SpecialLayout with those of WorldLayout. Kernels compiled with them at run time know every loop's
// length.
#pragma once
#include <string>

#include "sim/mujoco/model_data.h"
#include "sim/mujoco/special_kernel.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// C++ source in namespace hotloop. The arrays of HOTLOOP_MODEL_FIELDS are constants too: for worlds that differ in them
// the caller assigns the members anew.
std::string special_source(const ModelData& data, const WorldLayout& layout);

// The text around a kernel's body: includes, the model's constants, the kernel. op: an expression of type Args whose
// run<N>(group, world, memory, model, layout) does the work; bound: N.
std::string special_kernel_code(const std::string& includes, const std::string& model, const std::string& args_type,
                                int bound, const KernelShape& shape);

}  // namespace hotloop
