// Sums over episodes that ended. Kernels compiled at run time use this file.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"

namespace hotloop {

// Whole episodes that ended since the last collect().
struct EpisodeStats {
  double return_sum = 0, length_sum = 0;
  std::int64_t episodes = 0;
  std::int64_t nonfinite = 0;  // worlds that turned NaN or infinite and were reset (not counted as episodes)
  std::int64_t overflows = 0;  // steps of worlds that ran out of room for contacts or constraint rows
};
SIM_HD EpisodeStats operator+(const EpisodeStats& a, const EpisodeStats& b) {
  return {a.return_sum + b.return_sum, a.length_sum + b.length_sum, a.episodes + b.episodes, a.nonfinite + b.nonfinite,
          a.overflows + b.overflows};
}

// Sums of the reward's terms over those episodes, in the order of EnvSpec::reward_terms.
inline constexpr int kMaxRewardTerms = 16;
struct RewardTermSums {
  double term[kMaxRewardTerms] = {};
};
SIM_HD RewardTermSums operator+(const RewardTermSums& a, const RewardTermSums& b) {
  RewardTermSums sum;
  for (int k = 0; k < kMaxRewardTerms; ++k) sum.term[k] = a.term[k] + b.term[k];
  return sum;
}

}  // namespace hotloop
