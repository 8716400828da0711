// What a checkpoint holds beside tensors, and how it is opened: one file is enough to play, to resume and to export.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/config.h"
#include "train/metrics.h"
#include "train/policy_net.h"

namespace hotloop {

// Written by this version; older ones stay readable. 2: the state of the worlds and the counters hold sums of the
// reward's terms, where the task has terms.
inline constexpr int kCheckpointFormat = 2;

// Counters of the run loop that reach metric files.
struct RunCounters {
  std::int64_t iteration = 0, global_step = 0;
  std::int64_t episodes = 0, non_finite_worlds = 0, epochs = 0;
  double best_return = -1e300;  // of evaluations
  // since the last metric row
  double window_return_sum = 0, window_length_sum = 0;
  std::int64_t window_episodes = 0;
  std::vector<double> window_reward_terms;  // as EnvSpec::reward_terms
};

struct CheckpointInfo {
  TrainConfig config;
  RunCounters counters;
  FileOffsets offsets;  // of the metric files; empty in best checkpoints of evaluation alone
};

Metadata checkpoint_metadata(const CheckpointInfo& info);
// Error naming the file where something is missing or makes no sense.
CheckpointInfo checkpoint_info(const Safetensors& file);

// Reads and checks a checkpoint file.
Safetensors read_checkpoint(const std::filesystem::path& path);

// Error naming the tensor where it holds a number that is not finite.
void check_finite(const Safetensors& file, const std::string& tensor);

// Error naming the tensor that `policy` needs and the checkpoint lacks, or has in another shape.
void check_policy(const Safetensors& file, const PolicySpec& policy);

struct PolicyWeights {
  std::vector<float> parameters;   // [num_parameters]
  std::vector<double> normalizer;  // ObservationNormalizer's state; empty where observations are not normalised
};
// Of a file that check_policy() has passed. Error naming the tensor that holds a number that is not finite.
PolicyWeights policy_weights(const Safetensors& file, const PolicySpec& policy);
// The policy of a checkpoint, onto net's device. Error naming the tensor that does not fit.
void load_policy(const Safetensors& file, const Exec& exec, PolicyNet& net);

}  // namespace hotloop
