#include "train/population.h"

#include <fmt/format.h>

#include "sim/core/error.h"

namespace hotloop {
namespace {

constexpr std::int64_t kMostMembers = 1'000'000;

}  // namespace

std::vector<TrainConfig> with_seeds(const TrainConfig& config, std::int64_t num_seeds) {
  std::vector<TrainConfig> members(static_cast<std::size_t>(num_seeds), config);
  for (std::int64_t k = 0; k < num_seeds; ++k) members[static_cast<std::size_t>(k)].seed = config.seed + k;
  return members;
}

std::vector<TrainConfig> population_members(const TrainConfig& config, const Sweep& sweep, std::int64_t num_seeds) {
  const auto combinations = static_cast<std::int64_t>(sweep.combinations.size());
  if (num_seeds > kMostMembers / combinations)
    throw Error(fmt::format("--num-seeds {}: {} members ({} combinations of the sweep), more than {}", num_seeds,
                            num_seeds * combinations, combinations, kMostMembers));
  std::vector<TrainConfig> members;
  for (const std::vector<Setting>& combination : sweep.combinations) {
    TrainConfig own = config;
    for (const Setting& setting : combination) apply_setting(own, setting);
    try {
      validate(own);
    } catch (const Error& e) {
      throw Error(combination.empty() ? e.what() : combination[0].where + ": " + e.what());
    }
    for (const TrainConfig& member : with_seeds(own, num_seeds)) members.push_back(member);
  }
  return members;
}

}  // namespace hotloop
