// A training of a second in this process, for tests of what the viewer opens.
#pragma once
#include <filesystem>
#include <vector>

#include "train/commands.h"

namespace hotloop {

// CartPole on the CPU: 60 iterations of 8 worlds x 32 steps into `run`. A key in `more` replaces the same key here.
TrainConfig small_training(const std::filesystem::path& run, const std::vector<Setting>& more = {});

// Trains without a progress line; the exit status.
int train_quietly(const TrainConfig& config, const LogOptions& log = {}, TrainObserver* observer = nullptr);

// Everything logged, and states: what the viewer opens.
LogOptions log_to(const std::filesystem::path& file);

}  // namespace hotloop
