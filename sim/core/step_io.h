// What a step of many worlds reads and writes, and the batch's books about them: plain arrays. Kernels compiled at run
// time use this file.
#pragma once
#include <cstdint>

namespace hotloop {

// Where one step of all worlds reads and writes, on the batch's device. Usually row t of a rollout's arena.
struct StepIo {
  const void* action = nullptr;         // int64 [num_envs, dim] (discrete) or float [num_envs, dim]
  float* observation = nullptr;         // [num_envs, obs_dim] after the step; of a new episode where one ended
  float* reward = nullptr;              // [num_envs]
  std::uint8_t* terminated = nullptr;   // [num_envs] the task ended
  std::uint8_t* truncated = nullptr;    // [num_envs] the time limit ended it (both may be set)
  float* final_observation = nullptr;   // [num_envs, obs_dim] written only where an episode ended; may be null
  std::uint8_t* action_mask = nullptr;  // [num_envs, num_choices] for the next action; null if the task has none
  float* reward_terms = nullptr;        // [num_envs, terms] of this step, as EnvSpec names them; null: not wanted
};

// Per-world bookkeeping, one array each [num_envs], on the batch's device.
struct WorldBook {
  std::uint64_t* step;    // steps since the batch was made; keys the random draws
  std::int32_t* elapsed;  // steps that count toward the time limit
  std::int32_t* length;   // steps of this episode
  float* episode_return;
  float *stat_return, *first_return;
  std::int32_t *stat_length, *stat_episodes, *first_length;  // first_length: 0 until the first whole episode ended
  std::uint32_t *stat_nonfinite, *stat_overflow;
};

// Sums of each term of a world's reward, [num_envs][terms], on the batch's device; null where a task names no terms.
struct TermBook {
  float* episode;  // this episode so far
  float* stat;     // whole episodes since the last collect
  float* first;    // the first whole episode
};

}  // namespace hotloop
