// Names and ranges of an environment's actions and their rate, for panels.
#pragma once
#include <vector>

#include "sim/core/registry.h"
#include "viz/source/world_source.h"

namespace hotloop {

// Of a task on a model named after its actuators; an unbounded component ranges over [-1, 1].
std::vector<ControlInfo> control_infos(const EnvEntry& env, const EnvOptions& options);

// [s] from one action to the next; tasks without units: as fast as is good to look at.
double control_period(const EnvEntry& env, const EnvOptions& options);

}  // namespace hotloop
