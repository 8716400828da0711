// A model as source text: a type SpecialModel with the members of Model<float> whose sizes, options and arrays are
// constants, and SpecialLayout with those of WorldLayout. Kernels compiled with them at run time know every loop's
// length.
#pragma once
#include <string>

#include "sim/mujoco/model_data.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// C++ source in namespace hotloop. A field that has a row for each world in `model` is no constant: SpecialModel's
// constructor takes its place from the kernel's argument.
std::string special_source(const ModelData& data, const WorldLayout& layout, const Model<float>& model);

}  // namespace hotloop
