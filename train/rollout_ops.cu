#include "train/rollout_ops.h"

#include "sim/core/launch.h"
#include "train/sample_op.h"

namespace hotloop {
namespace {

struct GatherTruncatedOp {
  RolloutView r;
  SIM_HD void operator()(std::int64_t w) const {
    std::int64_t slot = 0;
    for (std::int64_t t = 0; t < r.num_steps; ++t) {
      const std::int64_t i = t * r.num_envs + w;
      if (!r.truncated[i]) continue;
      float* to = r.bootstrap_observation + (slot * r.num_envs + w) * r.obs_dim;
      for (std::int64_t k = 0; k < r.obs_dim; ++k) to[k] = r.final_observation[i * r.obs_dim + k];
      ++slot;
    }
  }
};

struct GaeOp {
  RolloutView r;
  float gamma, lambda;
  const float* reward_scale;
  float clip_reward;

  SIM_HD void operator()(std::int64_t w) const {
    std::int64_t slot = 0;
    for (std::int64_t t = 0; t < r.num_steps; ++t) slot += r.truncated[t * r.num_envs + w];
    const float scale = reward_scale == nullptr ? 1.0f : *reward_scale;
    float advantage = 0, next_value = r.last_value[w];
    for (std::int64_t t = r.num_steps - 1; t >= 0; --t) {
      const std::int64_t i = t * r.num_envs + w;
      const bool terminated = r.terminated[i], truncated = r.truncated[i];
      if (truncated) --slot;
      if (terminated)
        next_value = 0;
      else if (truncated)
        next_value = r.bootstrap_value[slot * r.num_envs + w];
      if (terminated || truncated) advantage = 0;
      float reward = r.reward[i];
      if (reward_scale != nullptr) reward = clamp(reward * scale, -clip_reward, clip_reward);
      const float value = r.value[i];
      advantage = reward + gamma * next_value - value + gamma * lambda * advantage;
      r.advantage[i] = advantage;
      r.value_target[i] = advantage + value;
      next_value = value;
    }
  }
};

struct VarianceTerm {
  const float *value, *target;
  SIM_HD VarianceTerms operator()(std::int64_t i) const {
    const double y = target[i], e = y - value[i];
    return {y, y * y, e, e * e};
  }
};

}  // namespace

void sample_actions(const Exec& exec, std::int64_t num_envs, const HeadView& head, const DrawKey& key,
                    bool deterministic, const SampleIo& io) {
  parallel_for(exec, num_envs, SampleOp{head, key, deterministic, io}, 64);
}

void gather_truncated(const Exec& exec, const RolloutView& rollout) {
  parallel_for(exec, rollout.num_envs, GatherTruncatedOp{rollout}, 64);
}

void gae(const Exec& exec, const RolloutView& rollout, double gamma, double lambda, const float* reward_scale,
         double clip_reward) {
  parallel_for(exec, rollout.num_envs,
               GaeOp{rollout, static_cast<float>(gamma), static_cast<float>(lambda), reward_scale,
                     static_cast<float>(clip_reward)},
               32);
}

std::int64_t variance_scratch(std::int64_t n) { return tree_sum_scratch(n); }

void variance_terms(const Exec& exec, std::int64_t n, const float* value, const float* target, VarianceTerms* scratch,
                    VarianceTerms* out) {
  tree_sum(exec, n, VarianceTerm{value, target}, scratch, out);
}

}  // namespace hotloop
