// The rollout that the fused kernel leaves in its own layout, as the leaves that logs read.
#pragma once
#include "data/arena.h"
#include "sim/core/device.h"
#include "train/distribution.h"
#include "train/policy_spec.h"

namespace hotloop {

struct FusedRollout {
  std::int64_t num_steps, num_envs;
  std::int64_t record_size;  // floats of one step's record
  const float* record;       // as FusedArgs has these
  const float* reward;
  const std::uint8_t* ended;
  const float* observation;  // after the last step
};

// Fills the leaves of rollout_leaves() but final_observation, which the kernel writes itself. `head` is on the device.
void unpack_rollout(const Exec& exec, const FusedRollout& from, const PolicySpec& policy, const HeadView& head,
                    const Arena& to);

}  // namespace hotloop
