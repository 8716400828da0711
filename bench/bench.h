// The benchmarks behind `hotloop bench`: each measures windows after a warm-up and reports median, least and most.
#pragma once
#include <string>
#include <vector>

#include "bench/env_bench.h"
#include "train/config.h"
#include "train/log_options.h"

namespace hotloop {

struct BenchOptions {
  std::vector<std::string> names;         // of bench_names(); empty: all
  std::vector<Setting> settings;          // configuration keys laid over each benchmark's own
  std::vector<std::string> command_line;  // as typed, for the results
  std::string results = "bench/results";  // folder of <benchmark>.csv
  double seconds = 2.0;                   // of one window
  std::int64_t num_seeds = 1;             // train: members of a population
  bool seconds_given = false;
  std::string log_flag;             // the first flag of a log that was given
  std::vector<std::string> models;  // physics: files; empty: the tasks' models
  int max_contacts = 0;             // physics: room of a world; 0: sized from the model
  bool generic = false;             // physics on a GPU: the generic kernel
  bool staged = false;              // physics: the time of each part of a step
  LogOptions log;                   // log: what and how; the file is removed afterwards
};
const std::vector<std::string>& bench_names();
// Prints `name unit value` lines and appends them to the results. Returns the exit status.
int bench_command(const BenchOptions& options);

// Median, least and most of what the windows gave.
BenchResult summary(const std::string& name, const std::string& unit, std::vector<double> values);

// A whole training, rollout to update, as `hotloop train` runs it (without writing files): steps/s end to end, host
// work an iteration (num_seeds: of so many trainings side by side), and the time from the start of the process to the
// end of the first iteration.
std::vector<BenchResult> bench_train(const TrainConfig& config, std::int64_t num_seeds, double seconds);

// The same training with and without a log of its trajectories, in turns: steps/s of both, their ratio, and what the
// log took: its bandwidth and the share of iterations that it holds.
std::vector<BenchResult> bench_log(const TrainConfig& config, const LogOptions& log, double seconds);

// An action of an exported policy in C, compiled by CC (default cc) with -O2, one observation at a time on one core:
// microseconds, for each configuration's task and network. Error where there is no compiler.
std::vector<BenchResult> bench_export(const std::vector<TrainConfig>& configs, double seconds);

}  // namespace hotloop
