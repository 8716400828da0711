// A model as source text: a type SpecialModel with the members of Model<float> whose sizes, options and arrays are
// constants, and SpecialLayout with those of WorldLayout. Kernels compiled with them at run time know every loop's
// length.
#pragma once
#include <string>

#include "sim/mujoco/model_data.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// C++ source in namespace hotloop. The arrays of HOTLOOP_MODEL_FIELDS are constants too: for worlds that differ in them
// the caller assigns the members anew.
std::string special_source(const ModelData& data, const WorldLayout& layout);

}  // namespace hotloop
