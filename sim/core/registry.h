// The registry: environments by name. Built-in ones come from sim/envs/env_list.h; a program outside this tree adds its
// own with register_env<MyEnv>() (sim/core/register.h) before it calls run().
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/batch.h"
#include "sim/core/visual.h"

namespace hotloop {

// What a controller of the modelled robot must know. Joints are the hinges and slides, in the model's order; names are
// the model's, empty where it gives none.
struct RobotInfo {
  double control_period = 0;  // [s] from one action to the next
  std::vector<std::string> joint_names, actuator_names;
  std::vector<std::string> actuator_joints;     // that each actuator moves; empty: a tendon
  std::vector<double> default_joint_positions;  // [rad], [m]: the model's qpos0
  std::vector<double> actuator_gear;            // from control to force or torque
};

struct EnvEntry {
  EnvSpec spec;  // with every option at its default
  std::unique_ptr<Batch> (*make)(const BatchConfig&) = nullptr;
  std::string model = {};                                    // the MJCF file of a task on a model
  std::vector<EnvOptionInfo> options = {};                   // what BatchConfig::options may set
  EnvSpec (*spec_with)(const EnvOptions&) = nullptr;         // null: no options
  EnvOptions (*resolve)(const EnvOptions& given) = nullptr;  // null: no options
  RobotInfo (*robot)(const EnvOptions&) = nullptr;           // null: no model
  VisualModel (*visual)(const EnvOptions&) = nullptr;        // null: no picture
  bool per_lane = false;                                     // a group of lanes steps a world
  int built_in = -1;  // place in BuiltInEnvs (sim/envs/env_list.h), whose sources the program carries; -1: not there
};

// Every option of an environment with its value, in the environment's order. Error naming a key that it has not, with
// the nearest, or a value that it does not take.
EnvOptions resolve_options(const EnvEntry& entry, const EnvOptions& given);
// The spec with these options.
EnvSpec spec_with_options(const EnvEntry& entry, const EnvOptions& given);

// All registered environments, in order of registration.
const std::vector<EnvEntry>& environments();

// By exact name. Error naming the nearest where there is none.
const EnvEntry& find_environment(const std::string& name);

// Error if the name is taken or the spec contradicts itself (sizes of bounds, empty spaces).
void register_environment(EnvEntry entry);

}  // namespace hotloop
