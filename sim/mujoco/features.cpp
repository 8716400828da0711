#include "sim/mujoco/features.h"

namespace hotloop {

void check_features(const mjModel*, const std::string&) {}

}  // namespace hotloop
