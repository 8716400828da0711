// Where the bodies of worlds are, from their positions alone: what viewers draw.
#pragma once
#include <cstdint>

#include "sim/core/device.h"
#include "sim/core/frame.h"
#include "sim/mujoco/model.h"

namespace hotloop {

// Frames (one a body) of worlds [first, first + count): out [count][nbody], on exec's device and ordered on it. The
// qpos of world w begins at qpos + w * stride.
void write_model_frames(const Exec& exec, const Model<float>& model, const float* qpos, std::int64_t stride,
                        std::int64_t first, std::int64_t count, Frame* out);

}  // namespace hotloop
