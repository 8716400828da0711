// The registry: environments by name. Built-in ones come from sim/envs/env_list.h; a program outside this tree adds its
// own with register_env<MyEnv>() (sim/core/register.h) before it calls run().
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/batch.h"

namespace hotloop {

struct EnvEntry {
  EnvSpec spec;
  std::unique_ptr<Batch> (*make)(const BatchConfig&) = nullptr;
};

// All registered environments, in order of registration.
const std::vector<EnvEntry>& environments();

// By exact name. Error naming the nearest where there is none.
const EnvEntry& find_environment(const std::string& name);

// Error if the name is taken or the spec contradicts itself (sizes of bounds, empty spaces).
void register_environment(EnvEntry entry);

}  // namespace hotloop
