// PolicySpec: what the policy is, said once. Both roads, checkpoints, evaluation and exports are driven by it. It also
// fixes where every parameter lies in the one flat parameter buffer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/env.h"
#include "train/config.h"
#include "train/policy_kinds.h"

namespace hotloop {

// y = activation(W x + b); W is [out, in] row-major, as in PyTorch's Linear.
struct LayerSpec {
  std::int64_t in = 0, out = 0;
  std::int64_t weight = 0, bias = 0;  // offsets in the flat buffer [elements]
  Activation activation = Activation::none;
  double gain = 1.0;  // of the orthogonal initialisation
  std::string name;   // "actor.0": parameters are "actor.0.weight", "actor.0.bias"
};

struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // [elements]
  std::int64_t numel = 0;
};

struct PolicySpec {
  std::int64_t obs_dim = 0;
  ActionSpace action;
  HeadKind head = HeadKind::categorical;
  bool state_std = false;  // the actor also outputs log standard deviations
  double log_std_init = 0.0;
  bool normalize_observation = false;
  double clip_observation = 10.0;
  bool has_action_mask = false;

  // actor and critic both read the trunk's output; without a shared network the trunk is empty and they read
  // observations
  std::vector<LayerSpec> trunk, actor, critic;
  std::int64_t log_std = -1;              // offset of the global log standard deviations [action dim], or -1
  std::int64_t num_parameters = 0;        // length of the flat buffer, with padding
  std::vector<ParameterSpec> parameters;  // in order of offset

  // Outputs of the actor: logits of every choice, or means (and log standard deviations).
  std::int64_t head_dim() const {
    return head == HeadKind::categorical ? action.num_choices() : action.dim() * (state_std ? 2 : 1);
  }
};

// Error where the configuration and the task's spaces contradict.
PolicySpec make_policy_spec(const TrainConfig& config, const EnvSpec& env);

// Orthogonal initialisation (Saxe et al. 2014) of every weight, zero biases, log_std_init; keyed by the seed.
std::vector<float> initial_parameters(const PolicySpec& spec, std::uint64_t seed);

const char* activation_name(Activation a);

}  // namespace hotloop
