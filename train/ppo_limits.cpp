#include "train/ppo_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/arena.h"
#include "sim/core/error.h"
#include "sim/core/host_memory.h"
#include "sim/core/value.h"
#include "train/ppo.h"

namespace hotloop {
namespace {

// Parameters, their gradients (one set a shard) and Adam's two moments.
double parameter_bytes(const PolicySpec& policy, std::int64_t shards) {
  return 4.0 * static_cast<double>(policy.num_parameters) * static_cast<double>(3 + shards);
}

double rollout_bytes(const PolicySpec& policy, const EnvSpec& env, std::int64_t num_steps, std::int64_t num_envs) {
  return static_cast<double>(Arena::required(rollout_leaves(policy, env, num_steps, num_envs)));
}

}  // namespace

std::int64_t num_shards(const TrainConfig& config, Device device) { return device.is_cuda() ? 1 : config.num_shards; }

void check_memory(const TrainConfig& config, const PolicySpec& policy, const EnvSpec& env) {
  const double needed =
      rollout_bytes(policy, env, config.num_steps, config.num_envs) + parameter_bytes(policy, config.num_shards);
  const auto available = static_cast<double>(available_memory());
  if (needed > available)
    throw OutOfMemory(
        fmt::format("cpu: out of memory: {:.0f} MB needed, {:.0f} MB free", 1e-6 * needed, 1e-6 * available));
}

void refuse_size(const TrainConfig& config, const PolicySpec& policy, const EnvSpec& env, Device device,
                 const std::string& reason, double usable_bytes) {
  // rollout, its minibatches and the activations of the networks take about three times the rollout alone; a tenth is
  // left for everything else
  const double per_env = 3 * rollout_bytes(policy, env, config.num_steps, 1);
  const double left = 0.9 * usable_bytes - parameter_bytes(policy, num_shards(config, device));
  if (left < per_env)
    throw Error(fmt::format("hidden_sizes {}: {}; the network has {} parameters", toml_text(config.hidden_sizes),
                            reason, policy.num_parameters));
  const auto fit = std::min(static_cast<std::int64_t>(left / per_env), std::max<std::int64_t>(1, config.num_envs / 2));
  throw Error(fmt::format("num_envs {} x num_steps {}: {}; about {} environments would fit", config.num_envs,
                          config.num_steps, reason, fit));
}

void check_control(const std::string& file, const Control& control, const TrainConfig& config) {
  const double updates = static_cast<double>(control.iteration) * static_cast<double>(config.update_epochs) *
                         static_cast<double>(config.num_minibatches);
  if (control.iteration < 0) throw Error(fmt::format("{}: control: iteration {} is negative", file, control.iteration));
  if (control.adam_step < 0 || static_cast<double>(control.adam_step) > updates)
    throw Error(fmt::format("{}: control: adam_step {}: must be in [0, {:.0f}] after iteration {}", file,
                            control.adam_step, updates, control.iteration));
  if (!(control.learning_rate >= 0 && control.learning_rate <= 10))
    throw Error(fmt::format("{}: control: learning_rate {}: must be in [0, 10]", file, control.learning_rate));
}

}  // namespace hotloop
