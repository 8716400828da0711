// Triangles of a model's meshes and height fields. Internal to visual.cpp.
#pragma once
#include <mujoco/mujoco.h>

#include "sim/core/visual.h"

namespace hotloop {

VisualMesh read_mesh(const mjModel* m, int mesh);

// The surface over the grid, walls around it, and a base at the field's bottom.
VisualMesh read_height_field(const mjModel* m, int field);

}  // namespace hotloop
