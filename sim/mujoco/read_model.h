// From a compiled mjModel to our arrays. Internal to the loader.
#pragma once
#include <mujoco/mujoco.h>

#include <string>

#include "sim/mujoco/model_data.h"

namespace hotloop {

// "geom 'foot'", or "geom #3" where it has no name.
std::string element_name(const mjModel* m, mjtObj type, int id);

// Everything but the pairs and what finish_sizes sets. The model must have passed check_features.
void read_arrays(const mjModel* m, ModelData& data);

// pair_*: every two geoms that may ever touch, in the order in which mj_collision visits them. Error for a pair of
// types, or a contact dimension, that we do not support.
void read_pairs(const mjModel* m, ModelData& data);

// Error for the first number that is not finite, far too large, or no sensible option.
void check_values(const mjModel* m, const ModelData& data);

}  // namespace hotloop
