// What the program's commands call. The options are checked for form by app/; meaning is checked here.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/config.h"
#include "train/foreign_policy.h"
#include "train/log_options.h"
#include "train/observer.h"
#include "train/run_dir.h"
#include "train/run_scores.h"

namespace hotloop {

struct TrainOptions {
  std::string resume;                     // run folder to go on with; empty: a new run
  bool quiet = false;                     // no progress line
  std::vector<std::string> command_line;  // as typed, for the run folder
  std::vector<std::string> sources;       // configuration files that took part, weakest first
  LogOptions log;                         // of trajectories
  std::int64_t num_seeds = 1;             // of a population: seeds of each combination
  std::string sweep;                      // of a population: file of the settings that differ; empty: none
  TrainObserver* observer = nullptr;      // who watches; lives as long
};
// Trains and returns the exit status. `config` is resolved and valid for its task.
int train_command(const TrainConfig& config, const TrainOptions& options);
// The same of a population; a resumed one knows its seeds and sweep.
int population_command(const TrainConfig& config, const TrainOptions& options);
bool is_population(const std::filesystem::path& folder);

struct PlayOptions {
  PolicyTarget policy;
  std::int64_t episodes = 100;
  bool json = false;
  std::optional<std::int64_t> seed;  // nothing: the run's own
  std::string device = "auto";
  bool stochastic = false;
  LogOptions log;  // of trajectories
};
int play_command(const PlayOptions& options);

struct CompareOptions {
  std::vector<std::string> targets;  // RUN and NAME=RUN,RUN,...
  ScoreRule rule;
  std::string score = "last";           // rule.kind in words
  std::vector<std::string> references;  // TASK=LOW,HIGH
  std::int64_t resamples = 10000, seed = 1;
  std::string plot;  // file to draw; empty: none
  bool json = false;
};
int compare_command(const CompareOptions& options);

struct RecordOptions {
  PolicyTarget policy;           // with `random` its path is a task
  std::string output;            // minari: folder of datasets, empty: where Minari looks; else the dataset itself
  std::string format;            // of kDatasetFormats
  bool random = false;           // uniform actions
  std::int64_t episodes = 0;     // exactly; 0: as many as `steps` takes
  std::int64_t steps = 0;        // at least, by whole episodes
  std::int64_t num_envs = 1024;  // worlds at most
  std::int64_t seed = 1;
  std::string device = "auto";
  bool stochastic = false, resume = false, quiet = false;
  std::string dataset_id, description;  // empty: from task and algorithm
  std::vector<std::string> authors, author_emails;
  std::optional<double> ref_min_score, ref_max_score;
};
int record_command(const RecordOptions& options);

inline const std::vector<std::string> kExportFormats = {"onnx", "torchscript", "safetensors", "c"};

struct ExportOptions {
  PolicyTarget policy;
  std::string format;  // of kExportFormats
  std::string output;  // file; empty: policy.EXTENSION
  std::string name;    // of the C function; empty: policy
  bool value = false;  // the critic's value too
};
// Writes the policy, and what it says of itself into OUTPUT.json.
int export_command(const ExportOptions& options);

struct ReplayOptions {
  std::string log;
  std::string device;  // empty: the kind that the log was made on
  bool json = false;
  bool check = false;  // what a replay does anyway
};
// Simulates what a log holds again, from its states with its actions, and compares bit by bit. Returns 0 where all is
// equal, 1 where something differs, could not be read, or nothing is there to compare.
int replay_command(const ReplayOptions& options);

struct ConvertOptions {
  std::string log, format, output, dataset_id;  // format, output, dataset_id: as RecordOptions
  bool quiet = false;
};
inline constexpr const char* kConvertStopped = "stopped; nothing is kept";
int convert_command(const ConvertOptions& options);

}  // namespace hotloop
