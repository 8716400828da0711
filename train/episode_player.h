// Plays whole episodes for recording: in a round each world plays one, so that short episodes get no more weight than
// long ones, and their order (round, world) depends on nothing but the seed.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "data/dataset/episode.h"
#include "sim/core/registry.h"
#include "train/policy_net.h"

namespace hotloop {

struct PlayerConfig {
  const EnvEntry* env = nullptr;
  EnvOptions options;
  EnvSpec spec;  // with these options
  int max_episode_steps = 0;
  std::int64_t worlds = 1;   // at most, in a round
  PolicyNet* net = nullptr;  // null: random actions
  bool stochastic = false;
};

// Worlds a round so that its episodes take about 64 MB where all last to the time limit; at most `wanted`.
std::int64_t worlds_of_a_round(const EnvSpec& spec, int max_episode_steps, std::int64_t wanted);

// The seed of a round's batch: other start states each round, never negative, as datasets keep it signed.
std::int64_t round_seed(std::uint64_t seed, std::int64_t round);

class EpisodePlayer {
 public:
  EpisodePlayer(const PlayerConfig& config, const Exec& exec);

  struct Round {
    std::vector<Episode> episodes;  // in order of their worlds; ids are not set
    std::int64_t non_finite = 0;    // episodes that turned non-finite and are left out
  };
  // Worlds [0, worlds) of the batch with this seed, one episode each. `progress` hears how many have ended.
  Round play(std::int64_t seed, std::int64_t worlds, const std::function<void(std::int64_t)>& progress);

 private:
  struct Block;  // a few steps of all worlds, on the device and here
  struct Books;
  void take_block(const Block& block, std::int64_t steps, Books& books) const;

  PlayerConfig config_;
  Exec exec_;
};

}  // namespace hotloop
