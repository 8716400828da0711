// population_command: trains many policies, from their configurations to a table of what they reached.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/shell.h"
#include "sim/core/thread_pool.h"
#include "sim/core/value.h"
#include "train/population.h"
#include "train/population_run.h"
#include "train/progress.h"
#include "train/road.h"
#include "train/run_counters.h"
#include "train/run_scores.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct MemberScore {
  double training_return = kNone, last = kNone, best = kNone, steps_to_threshold = kNone;
};

// What a member's metrics.csv says.
MemberScore score_of(const fs::path& folder, double threshold) {
  MemberScore score;
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return score;  // somebody has removed it
  ScoreRule rule;
  const std::vector<CurvePoint> curve = read_run(folder, rule).curve;
  score.last = curve.back().value;
  score.best = score.last;
  for (const CurvePoint& p : curve) {
    score.best = std::max(score.best, p.value);
    if (p.value >= threshold && std::isnan(score.steps_to_threshold)) score.steps_to_threshold = p.step;
  }
  rule.metric = "charts/episodic_return";
  try {
    score.training_return = read_run(folder, rule).score;
  } catch (const NoValues&) {  // no episode ended
  }
  return score;
}

std::string setting_text(const TrainConfig& config, const std::string& key) {
  std::string text;
  visit_config(config, [&](const char* name, const auto& value, const KeyRule&) {
    if (key == name) text = toml_text(value);
  });
  return text;
}

// Writes members.csv and the link; returns the best member.
std::size_t summarise(const Population& population) {
  const double threshold = find_environment(population.members.front().task).spec.reward_threshold;
  std::vector<MemberScore> scores(population.members.size());
  ThreadPool pool;
  pool.run(static_cast<int>(scores.size()), [&](int k) {
    const auto i = static_cast<std::size_t>(k);
    scores[i] = score_of(population.member_folder(i), threshold);
  });
  std::string text = "member,seed";
  for (const std::string& key : population.swept) text += "," + key;
  text += ",episodic_return,eval_return,best_eval_return,steps_to_threshold\n";
  const auto cell = [](double value) { return std::isnan(value) ? "," : "," + number_text(value); };
  std::size_t best = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const MemberScore& s = scores[k];
    if (std::isnan(scores[best].best) || s.best > scores[best].best) best = k;
    if (std::isnan(s.best))
      ProgressLine().message(fmt::format("'{}' was removed: it has no scores", population.member_folder(k).string()));
    text += population.member_folder(k).filename().string() + "," + std::to_string(population.members[k].seed);
    for (const std::string& key : population.swept) text += "," + setting_text(population.members[k], key);
    text += cell(s.training_return) + cell(s.last) + cell(s.best) + cell(s.steps_to_threshold) + "\n";
  }
  write_file(population.folder / "members.csv", text);
  const fs::path temporary = population.folder / "best.tmp";
  std::error_code failure;
  fs::remove(temporary, failure);
  fs::create_directory_symlink(population.member_folder(best).lexically_relative(population.folder), temporary,
                               failure);
  if (!failure) fs::rename(temporary, population.folder / "best", failure);
  if (failure) throw_file_error(population.folder / "best", failure.value());
  return best;
}

// A single training of a member, in its folder.
int train_member(const Population& population, std::size_t k, const TrainOptions& given, int threads) {
  const fs::path folder = population.member_folder(k);
  TrainConfig config = population.members[k];
  config.run_dir = folder.string();
  config.num_threads = threads;
  TrainOptions options;
  options.quiet = true;
  options.command_line = given.command_line;
  std::error_code ignored;
  if (fs::exists(folder / "latest.safetensors", ignored) || !numbered_checkpoints(folder).empty())
    options.resume = folder.string();
  else
    fs::remove_all(folder);  // of a training that was stopped before its first checkpoint
  return train_command(config, options);
}

// Each member by a thread of its own, as many at a time as there are.
int train_side_by_side(const Population& population, const TrainOptions& options, RunDir& folder) {
  folder.keep();
  ThreadPool pool(static_cast<int>(population.members.front().num_threads));
  const int count = static_cast<int>(population.members.size()), workers = std::min(count, pool.size());
  const int threads = std::max(1, pool.size() / workers);
  ProgressLine progress;
  std::mutex mutex;
  std::atomic<int> next = 0;
  int done = 0;
  if (!options.quiet)
    progress.message(fmt::format("{} on cpu: {} members, {} at a time, folder {}", population.members.front().task,
                                 count, workers, population.folder.string()));
  std::atomic<bool> failed = false;
  pool.run(workers, [&](int) {
    for (int k = next++; k < count && stop_status() == 0 && !failed; k = next++) {
      try {
        if (train_member(population, static_cast<std::size_t>(k), options, threads) != 0) return;
      } catch (...) {
        failed = true;
        throw;
      }
      const std::lock_guard<std::mutex> lock(mutex);
      ++done;
      if (!options.quiet) progress.update(fmt::format("{} of {} members done", done, count));
    }
  });
  return done < count ? stop_status() : 0;
}

// What was asked for, in the folder of a new population.
void write_request(const Population& population, const TrainConfig& config, const TrainOptions& options) {
  make_folder(population.folder);
  if (!options.sweep.empty()) write_file(population.folder / "sweep.toml", read_file(options.sweep, 1 << 20));
  TrainConfig own = config;
  own.run_dir.clear();
  write_file(population.folder / "config.toml", to_toml(own));
  write_file(population.folder / "population.toml",
             fmt::format("# `hotloop train --resume` of this folder trains its members on\nnum_seeds = {}\n",
                         options.num_seeds));
}

std::vector<std::string> swept_keys(const Sweep& sweep) {
  std::vector<std::string> keys;
  for (const Setting& s : sweep.combinations.front()) keys.push_back(s.key);
  return keys;
}

// What populations cannot do, before anything is written.
void refuse(const TrainConfig& config, const TrainOptions& options, Device device) {
  const std::string flag = options.num_seeds > 1 || options.sweep.empty() ? "--num-seeds" : "--sweep";
  if (config.algo != "ppo") throw Error(flag + ": is of algo ppo, algo is " + config.algo);
  if (!options.log.path.empty()) throw Error(flag + ": does not go with --log-trajectories, which is of one run");
  if (!config.init_from.empty()) throw Error(flag + ": does not go with init_from " + shown(config.init_from));
  const std::string reason = why_no_population(config, device);
  if (!reason.empty()) throw Error(flag + ": " + reason);
}

}  // namespace

fs::path Population::member_folder(std::size_t k) const {
  const std::size_t digits = std::max<std::size_t>(4, std::to_string(members.size() - 1).size());
  return folder / "members" / fmt::format("{:0{}}", k, digits);
}

bool is_population(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "population.toml", ignored);
}

int population_command(const TrainConfig& config, const TrainOptions& given) {
  TrainOptions options = given;
  const bool resumes = !options.resume.empty();
  if (resumes) {
    const fs::path folder = options.resume;
    options.num_seeds = read_num_seeds(folder / "population.toml");
    std::error_code ignored;
    options.sweep = fs::exists(folder / "sweep.toml", ignored) ? (folder / "sweep.toml").string() : "";
  }
  const Device device = parse_device(config.device);
  refuse(config, options, device);
  const Sweep sweep =
      options.sweep.empty() ? Sweep() : read_sweep(options.sweep, static_cast<std::uint64_t>(config.seed));
  Population population;
  population.members = population_members(config, sweep, options.num_seeds);
  population.swept = swept_keys(sweep);
  listen_for_stop();
  RunDir folder = resumes ? RunDir::resume(options.resume, 1)
                          : RunDir::create(config.run_dir, config.task, config.exp_name, config.seed, 1);
  population.folder = folder.path();
  if (!resumes) write_request(population, config, options);
  const auto start = std::chrono::steady_clock::now();
  const int status = device.is_cuda() ? train_together(population, options, device, folder)
                                      : train_side_by_side(population, options, folder);
  ProgressLine progress;
  const std::string name = shell_quoted(population.folder.string());
  if (status != 0) {
    if (!options.quiet)
      progress.message(fmt::format("stopped and saved; go on with: {} train --resume {}", program_name(), name));
    return status;
  }
  const std::size_t best = summarise(population);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.quiet)
    progress.message(fmt::format("done in {}; all members are in {}, the best is {}; play it with: {} play {}",
                                 duration_text(seconds), (population.folder / "members.csv").string(),
                                 population.member_folder(best).filename().string(), program_name(),
                                 shell_quoted((population.folder / "best").string())));
  return 0;
}

}  // namespace hotloop
