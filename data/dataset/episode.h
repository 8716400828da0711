// What every dataset format is written from: whole episodes in order, and what the dataset says of itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/env.h"

namespace hotloop {

// One whole episode. observations hold the first one and the true last one, so that row t and row t + 1 are those
// around action t. The last step is terminated, truncated or both; no other is.
struct Episode {
  std::int64_t id = 0;                              // 0, 1, 2 ... within a dataset
  std::int64_t seed = -1;                           // of the batch that played it, -1: not known
  std::int64_t world = -1;                          // in that batch
  std::int64_t length = 0;                          // steps
  std::vector<float> observations;                  // [length + 1][obs_dim]
  std::vector<std::byte> actions;                   // [length][action dim] of float (box) or int64 (discrete)
  std::vector<float> rewards;                       // [length]
  std::vector<std::uint8_t> terminated, truncated;  // [length] 0 or 1
  std::vector<float> reward_terms;                  // [length][terms], see DatasetInfo::env

  // Number k of the `terms`: [length].
  std::vector<float> reward_term(std::size_t k, std::size_t terms) const {
    std::vector<float> values;
    for (; k < reward_terms.size(); k += terms) values.push_back(reward_terms[k]);
    return values;
  }
  double episode_return() const {
    double sum = 0;
    for (const float r : rewards) sum += r;
    return sum;
  }
};

struct DatasetInfo {
  EnvSpec env;              // reward_terms: those that the episodes hold
  EnvOptions options = {};  // of the environment, all of them
  std::string dataset_id;   // Minari's
  std::string algorithm;    // "ppo", "random"
  std::string description;
  std::vector<std::string> authors = {}, author_emails = {};
  std::optional<double> ref_min_score, ref_max_score;  // mean returns of a random and an expert policy
};

inline std::size_t action_bytes(const ActionSpace& action) {
  return static_cast<std::size_t>(action.dim()) * (action.is_box() ? sizeof(float) : sizeof(std::int64_t));
}

}  // namespace hotloop
