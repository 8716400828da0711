// Warm start: a run begins with parameters of another, and with all else new (optimiser, schedules, worlds). What is
// taken goes by name and shape.
#pragma once
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/config.h"
#include "train/policy_spec.h"

namespace hotloop {

struct WarmStart {
  std::vector<std::string> fits;     // tensors to take over, as checkpoints name them
  std::vector<std::string> misfits;  // in words: "actor.0.weight is [64, 4] there and [128, 4] here"
};

// What config.init_parts wants of `file` (all; the actor with log_std; the critic; a shared trunk with either), and the
// statistics by which observations are normalised, which every part reads. Those of rewards, in whose scale values are,
// come with the critic where both have them.
WarmStart plan_warm_start(const Safetensors& file, const TrainConfig& config, const PolicySpec& policy);

// The file that config.init_from names, read; with what fits. Error naming what does not fit, unless
// config.init_partial, and where nothing fits.
struct InitialPolicy {
  Safetensors file;
  WarmStart plan;
  std::string text() const;  // for the lines at the start
};
InitialPolicy read_initial_policy(const TrainConfig& config, const PolicySpec& policy);

}  // namespace hotloop
