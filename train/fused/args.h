// What one launch of the fused kernel reads and writes. Shared by the host and kernels compiled at run time; all
// pointers on the card.
#pragma once
#include <cstdint>

#include "sim/core/book.h"
#include "sim/core/episode_stats.h"
#include "train/control.h"
#include "train/index_permutation.h"
#include "train/ppo_loss.h"
#include "train/running_moments.h"

namespace hotloop {

inline constexpr int kNormWords = 4;  // three and one that fills the line

// Where an iteration's time goes, as block 0 sees it.
enum class FusedPhase : std::int32_t {
  start,  // parameters into shared memory
  rollout,
  values,
  advantages,  // with the sums that normalise them
  meet,        // all blocks, before the minibatches
  tiles,       // forward, loss, backward, gradients
  meet_gradients,
  reduce,  // of a slice over the blocks
  norm,    // agreed by all blocks, and the plan of the step
  adam,
  meet_parameters,
  load,    // parameters into shared memory
  finish,  // statistics and metrics of the iteration
  count
};

// What members of a population may have of their own beside their state.
struct FusedMember {
  UpdateSpec update;
  std::uint64_t seed;
};

// Of all blocks of a member: what their barriers and their exchange of norms have counted up to the last launch.
struct FusedTally {
  std::uint32_t barrier, barriers, updates;
};

struct FusedArgs {
  // Pointers are the first member's; those of member k lie k * member_bytes further on. Member k is that of S::kBlocks
  // blocks, the first of a launch that of its first blocks.
  const FusedMember* member;
  std::int64_t member_bytes;
  std::int32_t first_member, num_members;
  std::int32_t iterations;  // of this launch
  std::int32_t ring_depth;
  MetricsSlot* metrics;  // [ring_depth][num_members] of all members, in the host's memory

  BookView book;  // of the worlds; the seed is the member's
  std::int32_t num_steps, bootstrap_slots;

  // state of the training, as in a checkpoint
  std::uint32_t* words;                   // [kWords, num_envs] the worlds' states
  float* observation;                     // [num_envs, obs_dim] after the last step
  float *parameters, *moment1, *moment2;  // [num_parameters]
  Control* control;
  double* observation_state;  // where observations are normalised: mean and sum of squared deviations [obs_dim], count
  float clip_observation;
  double* return_state;   // where rewards are normalised: mean, sum of squared deviations and count of returns,
  float* return_running;  // and [num_envs] the discounted return under way

  // one rollout; element (t, w) of [num_steps, num_envs] is at t * num_envs + w
  float* record;              // [num_steps, num_envs, kRecord]: observation, action, log-probability, value, advantage
  float* reward;              // [num_steps, num_envs]
  std::uint8_t* ended;        // [num_steps, num_envs] kTerminated and kTruncated bits
  float* value;               // [num_steps + 1 + bootstrap_slots, num_envs]; of the steps later the advantage
  float* final_observation;   // [bootstrap_slots, num_envs, obs_dim] of truncated episodes
  float* last_observation;    // [num_steps, num_envs, obs_dim] of every episode that ended; null: not wanted
  std::int32_t* truncations;  // [num_envs] episodes truncated in this rollout

  // exchange between blocks
  float* partials;             // [slices][partial sums of a parameter][slice] of gradients
  float* loss_partials;        // [blocks][groups][kLossStride]
  AdvantageTerms* advantages;  // [minibatches of an iteration][blocks]
  Moments* returns;            // [blocks] of the discounted returns
  Moments* observations;       // [blocks][obs_dim] of this rollout's observations, where they are normalised
  VarianceTerms* variance;     // [blocks]
  EpisodeStats* episodes;      // [blocks]
  float* own;  // of one block: Adam's state as its threads step it [3][sums of a network][threads]; of a launch alone
  float* gradients;            // [num_parameters] of the last minibatch, before clipping
  unsigned long long* norms;   // [4][kNormWords] squared norms as integers; zero at first
  FusedTally* tally;           // zero at first
  unsigned long long* phases;  // [FusedPhase::count] clocks of the first member's block 0, added up; null: not wanted
};

}  // namespace hotloop
