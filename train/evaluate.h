// Evaluation: each world plays one whole episode, so that short episodes count no more than long ones. More episodes
// than there are worlds are played in rounds of one episode a world.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/registry.h"
#include "train/first_ends.h"
#include "train/play_log.h"
#include "train/policy_net.h"

namespace hotloop {

struct EvaluationResult {
  std::int64_t episodes = 0;  // played, whatever became of them
  // Of them, those that turned non-finite: they are in no mean and in no list; all of them: means are NaN.
  std::int64_t non_finite = 0;
  std::int64_t terminated = 0, truncated = 0;               // the others, by how they ended
  double return_mean = 0, return_std = 0, length_mean = 0;  // std: of the population
  std::vector<float> returns;
  std::vector<std::int32_t> lengths;
  std::vector<double> reward_terms;  // means of their sums over an episode, as EnvSpec::reward_terms
};

class Evaluator {
 public:
  // `seed` keys the start states and, if `stochastic`, the actions; evaluation has streams of its own.
  Evaluator(const EnvEntry& env, const EnvOptions& options, const PolicySpec& policy, const Exec& exec,
            std::int64_t episodes, std::uint64_t seed, int max_episode_steps, bool stochastic);

  PolicyNet& net() { return net_; }
  // Episodes of a round.
  std::int64_t worlds() const { return worlds_; }
  // Logs the steps of the only round; must live as long.
  void set_log(PlayLog* log) { log_ = log; }
  // Plays the episodes anew, always from the same start states. Waits for the device. Calls `progress` from time to
  // time with the number of episodes that have ended.
  EvaluationResult run(const std::function<void(std::int64_t)>& progress = {});

 private:
  void play_round(std::int64_t round, EvaluationResult& result, const std::function<void(std::int64_t)>& progress);
  void take(const Batch& batch, const std::vector<EpisodeEnd>& ends, EvaluationResult& result) const;

  const EnvEntry& env_;
  EnvOptions options_;
  Exec exec_;
  std::int64_t episodes_, worlds_;
  std::uint64_t seed_;
  int max_episode_steps_;
  bool stochastic_;
  PolicyNet net_;
  StepBuffers buffers_;
  FirstEnds ends_;
  PlayLog* log_ = nullptr;
};

}  // namespace hotloop
