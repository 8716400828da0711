// A population's folder, and the trainings of its members:
//   config.toml, sweep.toml, population.toml   what it was asked for
//   members/0000, ...                          run folders as of single trainings, to the bit but for performance.csv
//   members.csv                                a line a member: settings and scores
//   best                                       link to the member of the best evaluation
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "train/commands.h"
#include "train/config.h"

namespace hotloop {

struct Population {
  std::filesystem::path folder;
  std::vector<TrainConfig> members;
  std::vector<std::string> swept;  // keys in which they differ, beside the seed

  std::filesystem::path member_folder(std::size_t k) const;
};

// All members in the same kernels, on a GPU. Returns the exit status; resume: from the newest iteration of which every
// member has a checkpoint. folder: of the population; kept once the members are there.
int train_together(const Population& population, const TrainOptions& options, Device device, RunDir& folder);

}  // namespace hotloop
