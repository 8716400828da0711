// Policies that other programs have trained, from safetensors files of their state dictionaries.
//
//   here              CleanRL's ppo.py, ppo_continuous_action.py   Stable-Baselines3's PPO, A2C ("MlpPolicy")
//   actor.K.*         actor.N.*, actor_mean.N.*                    mlp_extractor.policy_net.N.*, then action_net.*
//   critic.K.*        critic.N.*                                   mlp_extractor.value_net.N.*, then value_net.*
//   log_std [A]       actor_logstd [1, A]                          log_std [A]
//   normaliser        obs_rms.mean [d], obs_rms.var [d], obs_rms.count: what the wrapper NormalizeObservation or
//                     VecNormalize holds, where the policy was trained behind one; its dictionary does not have them
//
// N counts the modules of a torch.nn.Sequential, activations among them; K = 0, 1, ... in the order of N. Weights are
// float32 [out, in]. Sizes follow from the shapes; the activation and the task are in no such file.
#pragma once
#include <filesystem>
#include <string>

#include "data/safetensors.h"
#include "train/run_dir.h"

namespace hotloop {

struct ForeignOptions {
  std::string task;                 // empty: only checkpoints of hotloop
  std::string activation = "tanh";  // of the hidden layers
};

// What RUN|CHECKPOINT means, read: a checkpoint of hotloop, checked as read_checkpoint() does; or, of a file that holds
// a policy of CleanRL or Stable-Baselines3, the checkpoint that hotloop would have written of it. Error naming the file
// and what is missing, superfluous or of another shape.
Safetensors read_policy(const std::filesystem::path& argument, CheckpointChoice choice, const ForeignOptions& options);

// Which policy a command is about.
struct PolicyTarget {
  std::string path;              // run folder, checkpoint file or a policy of another program
  std::string task, activation;  // of such a policy; empty: the checkpoint's, tanh
  CheckpointChoice checkpoint = CheckpointChoice::best_or_latest;  // of a run folder
};
// As above. Error also where a task or an activation is named and the file is of another.
Safetensors read_policy(const PolicyTarget& target);

}  // namespace hotloop
