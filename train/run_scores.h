// What finished (or running) trainings have scored, read from their folders, and which of them belong together.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/bootstrap.h"
#include "train/config.h"
#include "train/metric_table.h"

namespace hotloop {

struct CurvePoint {
  double step = 0, seconds = 0, value = 0;  // seconds: of training, over all of its resumptions
};

struct ScoredRun {
  std::string path;
  TrainConfig config;
  std::vector<CurvePoint> curve;  // every value of the metric, by step; at least one
  double score = 0;
};

enum class ScoreKind : std::uint8_t { last, best, mean };

struct ScoreRule {
  std::string metric = "eval/episodic_return";  // a column of metrics.csv
  ScoreKind kind = ScoreKind::last;             // value of the metric that is the score; mean: of all of them
  std::optional<double> until;                  // later steps do not count
  bool seconds = false;                         // read them
};

// Error naming the folder or file where it is no run, NoValues where it has no value.
ScoredRun read_run(const std::filesystem::path& folder, const ScoreRule& rule);

struct RunGroup {
  std::string name;
  std::vector<std::vector<ScoredRun>> tasks;  // in the order of Comparison::tasks; each at least one run
  Strata scores() const;
};

struct Comparison {
  std::vector<std::string> tasks;
  std::vector<RunGroup> groups;
  std::vector<std::string> left_out;  // why, a line for each run without a value
};

// Runs of arguments RUN and NAME=RUN,RUN,...; a RUN may be a pattern as of the shell. Those without a name are grouped
// by exp_name and by the settings in which runs of one task differ, apart from seed and what does not reach a policy.
// Error for what is no run, a run given twice, no run with a value, and groups that do not have the same tasks.
Comparison read_comparison(const std::vector<std::string>& arguments, const ScoreRule& rule);

}  // namespace hotloop
