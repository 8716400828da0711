// What the worlds of a model look like.
#pragma once
#include "sim/core/visual.h"
#include "sim/mujoco/load.h"

namespace hotloop {

// Frames are bodies, by their numbers. The first camera is that of MuJoCo's simulate: it stands still. Of lights whose
// direction follows a body, the direction is that of the start.
VisualModel model_visual(const LoadedModel& model);
// Moves the centre to the middle of all shapes but floors as the model starts: MuJoCo's own counts floors too.
void look_at_bodies(const LoadedModel& model, VisualModel& visual);

}  // namespace hotloop
