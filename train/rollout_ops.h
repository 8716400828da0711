// The steps of a rollout and of its advantages that are neither environment nor network. Time-major buffers: element
// (t, w) of a [num_steps, num_envs] array is at t * num_envs + w. All pointers on exec's device.
#pragma once
#include <cstdint>

#include "sim/core/book.h"
#include "sim/core/device.h"
#include "sim/core/step_io.h"
#include "train/control.h"
#include "train/distribution.h"
#include "train/normalizer.h"

namespace hotloop {

// What one step of sampling reads and writes, [num_envs, ...] each.
struct SampleIo {
  const float* head = nullptr;         // [num_envs, head_dim]
  const float* log_std = nullptr;      // [dim] global; null with state_std or a categorical head
  const std::uint8_t* mask = nullptr;  // [num_envs, num_choices] or null
  void* action = nullptr;              // int64 or float [num_envs, dim]: what the environment gets
  float* sample = nullptr;             // [num_envs, dim] the Gaussian's draw; null for a categorical head
  float* log_prob = nullptr;           // [num_envs]; may be null
};

// Keys of the draws: (seed, stream, world, step), step = iteration * num_steps + t with the iteration read on the
// device.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t stream = static_cast<std::uint32_t>(RngStream::action);
  const Control* control = nullptr;  // null: iteration 0
  std::int64_t num_steps = 0, t = 0;
};
void sample_actions(const Exec& exec, std::int64_t num_envs, const HeadView& head, const DrawKey& key,
                    bool deterministic, const SampleIo& io);

// A whole rollout of worlds of a built-in environment that takes no masks, for a network that steps them itself.
struct RolloutWork {
  std::int64_t num_steps = 0, num_envs = 0, obs_dim = 0;
  int built_in = -1;  // place in BuiltInEnvs
  BookView book;
  std::uint32_t* words = nullptr;  // the worlds' states
  ObservationNormalizer::View normalizer;
  HeadView head;
  DrawKey key;
  float* observation = nullptr;  // [num_steps + 1, num_envs, obs_dim], the first ones given
  float* value = nullptr;        // [num_steps, num_envs]
  // What the first step reads and writes; each following one num_envs rows further on.
  SampleIo sample;
  StepIo step;
};
// Of its step t.
SIM_HD SampleIo sample_at(const RolloutWork& r, std::int64_t t) {
  SampleIo io = r.sample;
  const std::int64_t rows = t * r.num_envs, numbers = rows * r.head.dim;
  if (r.head.kind == HeadKind::categorical)
    io.action = static_cast<std::int64_t*>(io.action) + numbers;
  else
    io.action = static_cast<float*>(io.action) + numbers, io.sample += numbers;
  io.log_prob += rows;
  return io;
}
SIM_HD StepIo step_at(const RolloutWork& r, std::int64_t t) {
  StepIo io = r.step;
  const std::int64_t rows = t * r.num_envs;
  io.action = sample_at(r, t).action;
  io.observation += rows * r.obs_dim, io.final_observation += rows * r.obs_dim;
  io.reward += rows, io.terminated += rows, io.truncated += rows;
  return io;
}

struct RolloutView {
  std::int64_t num_steps = 0, num_envs = 0, obs_dim = 0;
  const float* reward = nullptr;                                   // [T, N]
  const std::uint8_t *terminated = nullptr, *truncated = nullptr;  // [T, N]
  const float* final_observation = nullptr;                        // [T, N, obs_dim], valid where an episode ended
  const float* value = nullptr;                                    // [T, N]
  const float* last_value = nullptr;                               // [N] value of the observation after the last step
  std::int64_t bootstrap_slots = 0;                     // K: the most time limits one world can meet in a rollout
  float* bootstrap_observation = nullptr;               // [K, N, obs_dim]
  const float* bootstrap_value = nullptr;               // [K, N]
  float *advantage = nullptr, *value_target = nullptr;  // [T, N]
};

// The most time limits that one world can meet in num_steps steps.
inline std::int64_t bootstrap_slots(std::int64_t num_steps, std::int64_t max_episode_steps) {
  return (num_steps - 1) / max_episode_steps + 1;
}

// Copies the true terminal observations of truncated episodes to bootstrap_observation: the k-th of world w to (k, w).
// Other rows keep older, finite contents.
void gather_truncated(const Exec& exec, const RolloutView& rollout);

// Generalised advantage estimation (Schulman et al. 2016) with rewards times *reward_scale (null: 1). Where an episode
// was truncated the value of its true terminal observation stands in for the rest of it; where it terminated nothing
// does; across neither does the sum over time reach.
void gae(const Exec& exec, const RolloutView& rollout, double gamma, double lambda, const float* reward_scale,
         double clip_reward);

std::int64_t variance_scratch(std::int64_t n);
void variance_terms(const Exec& exec, std::int64_t n, const float* value, const float* target, VarianceTerms* scratch,
                    VarianceTerms* out);

}  // namespace hotloop
