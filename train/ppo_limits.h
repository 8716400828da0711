// What a training refuses before it starts: sizes that no memory here holds, and counters that no run can have.
#pragma once
#include <cstdint>
#include <string>

#include "sim/core/device.h"
#include "train/config.h"
#include "train/control.h"
#include "train/policy_spec.h"

namespace hotloop {

// A GPU runs a minibatch whole; on the CPU the shards are what threads share.
std::int64_t num_shards(const TrainConfig& config, Device device);

// On the CPU, before seconds go into filling what is there: OutOfMemory where the least that a run takes is not free.
void check_memory(const TrainConfig& config, const PolicySpec& policy, const EnvSpec& env);

// Error for a run that did not fit into `usable_bytes` of its device, for `reason`: how many environments would, or
// that the network alone does not.
[[noreturn]] void refuse_size(const TrainConfig& config, const PolicySpec& policy, const EnvSpec& env, Device device,
                              const std::string& reason, double usable_bytes);

// A checkpoint whose checksum fits can still be another program's or a damaged run's: Error naming `file` and value.
void check_control(const std::string& file, const Control& control, const TrainConfig& config);

}  // namespace hotloop
