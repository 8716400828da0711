// Which trainings a population has: the seeds, and the settings in which a sweep lets its members differ.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "train/config.h"

namespace hotloop {

// The configuration with seeds config.seed, config.seed + 1, ...
std::vector<TrainConfig> with_seeds(const TrainConfig& config, std::int64_t num_seeds);

// A sweep as a file has it, in the words of Weights & Biases:
//   method = "grid"          # every combination; zip: the lists side by side; random: `count` draws
//   [parameters]
//   learning_rate = [1e-4, 3e-4]                    # or {values = [...]}
//   ent_coef = {min = 1e-4, max = 0.1, log = true}  # of random: uniform, or in its logarithm
struct Sweep {
  // One for each combination, in the order of the file's parameters; one without settings where there is no sweep.
  std::vector<std::vector<Setting>> combinations = {{}};
};
// Error naming file, key and value. `seed` keys the draws of random.
Sweep read_sweep(const std::filesystem::path& file, std::uint64_t seed);
// num_seeds of a population's population.toml.
std::int64_t read_num_seeds(const std::filesystem::path& file);
Sweep parse_sweep(const std::string& text, const std::string& source, std::uint64_t seed);

// Every combination with num_seeds seeds, combination by combination. Error where a member's configuration makes no
// sense, or a combination sets what members cannot have of their own.
std::vector<TrainConfig> population_members(const TrainConfig& config, const Sweep& sweep, std::int64_t num_seeds);

}  // namespace hotloop
