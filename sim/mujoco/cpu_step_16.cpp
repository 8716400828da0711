#include "sim/mujoco/cpu_step_impl.h"

namespace hotloop {
template struct CpuStep<16>;
}
