#include "sim/mujoco/model_kernel.h"

namespace hotloop {
HOTLOOP_INSTANTIATE_MODEL_STEP(64)
}  // namespace hotloop
