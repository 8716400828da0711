#include "sim/mujoco/model_step.h"

namespace hotloop {
HOTLOOP_INSTANTIATE_MODEL_STEP(32)
}  // namespace hotloop
