// train_command: one training from its configuration to its end.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/evaluate.h"
#include "train/machine.h"
#include "train/nvml.h"
#include "train/progress.h"
#include "train/rollout_log.h"
#include "train/run_counters.h"
#include "train/run_dir.h"
#include "train/stop_signal.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace hotloop {
namespace {

// Processor time of this thread [s]: what the host itself does, without its waiting.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class TrainRun {
 public:
  TrainRun(const TrainConfig& config, const TrainOptions& options, Device device,
           const std::optional<Safetensors>& from, const std::optional<InitialPolicy>& initial);
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  bool due(std::int64_t interval) const { return interval > 0 && counters_.iteration % interval == 0; }
  void deliver(const IterationMetrics& m);
  void write_row(const IterationMetrics& m);
  void evaluate();
  void describe_run();
  void restore_folder();
  void checkpoint();
  void settle();
  void open_log(const TrainOptions& options);
  void check_log();
  void close_log();
  void say(const std::string& line);
  bool stopping() const { return stop_status() != 0 || !log_failure_.empty(); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  TrainConfig config_;
  const EnvEntry& env_;
  RunDir folder_;
  std::unique_ptr<Trainer> trainer_;
  Evaluator evaluator_;
  std::string machine_;  // machine.json
  std::optional<MetricWriter> metrics_;
  std::unique_ptr<GpuMonitor> gpu_;
  std::unique_ptr<RolloutLog> log_;  // of trajectories
  TrainObserver* observer_;
  bool log_blocks_ = false;
  std::string log_failure_;  // ends the training
  ProgressLine progress_;
  RunCounters counters_;
  std::vector<std::string> term_tags_;  // of the reward's terms
  std::int64_t total_iterations_, steps_per_iteration_;
  std::int64_t first_step_ = 0, evaluated_ = -1, saved_ = -1;
  double last_return_ = ProgressState::kUnknown, last_length_ = ProgressState::kUnknown;
  double host_seconds_ = 0, evaluation_seconds_ = 0;
  std::int64_t host_iterations_ = 0;
  bool quiet_, overflow_reported_ = false, non_finite_reported_ = false;
  Clock::time_point start_ = Clock::now();
};

// The observer's time, which ends before the trainer's does, however the training ends.
class Watched {
 public:
  Watched(TrainObserver* observer, const TrainObserver::Run& run) : observer_(observer) {
    if (observer_ != nullptr) observer_->started(run);
  }
  ~Watched() {
    if (observer_ != nullptr) observer_->ended();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  TrainObserver* observer_;
};

RunDir open_folder(const TrainConfig& config, const TrainOptions& options) {
  if (!options.resume.empty()) return RunDir::resume(options.resume, config.keep_checkpoints);
  return RunDir::create(config.run_dir, config.task, config.exp_name, config.seed, config.keep_checkpoints);
}

TrainRun::TrainRun(const TrainConfig& config, const TrainOptions& options, Device device,
                   const std::optional<Safetensors>& from, const std::optional<InitialPolicy>& initial)
    : config_(config),
      env_(find_environment(config.task)),
      folder_(open_folder(config, options)),
      trainer_(make_trainer(config, env_, device)),
      evaluator_(env_, config.env, trainer_->policy(), trainer_->exec(), config.eval_episodes,
                 static_cast<std::uint64_t>(config.seed), static_cast<int>(config.max_episode_steps), false),
      observer_(options.observer),
      total_iterations_(num_iterations(config)),
      steps_per_iteration_(config.num_envs * config.num_steps),
      quiet_(options.quiet) {
  term_tags_ = reward_term_tags(env_);
  counters_.window_reward_terms.resize(term_tags_.size());
  // the configuration in the folder is what the run is, not where: given to `hotloop train` it starts another like it
  config_.run_dir.clear();
  if (from) {
    const CheckpointInfo info = checkpoint_info(*from);
    trainer_->load(*from);
    if (trainer_->enqueued() != info.counters.iteration)
      throw Error(fmt::format("{}: control: iteration {}, but the run's counters say {}", from->name(),
                              trainer_->enqueued(), info.counters.iteration));
    counters_ = info.counters;
    saved_ = counters_.iteration;
    metrics_.emplace(folder_.path(), info.offsets, term_tags_);
  } else {
    if (initial) trainer_->adopt(initial->file, initial->plan.fits);
    metrics_.emplace(folder_.path(), term_tags_);
  }
  first_step_ = counters_.global_step;
  machine_ = describe_machine(options.command_line, device);
  describe_run();
  if (device.is_cuda()) gpu_ = std::make_unique<GpuMonitor>(cuda_device_info(device.index).pci_bus_id);
  if (!options.log.path.empty()) open_log(options);
  // what was left out is said in any case
  if (initial && (!quiet_ || !initial->plan.misfits.empty())) say(initial->text());
  if (quiet_) return;
  say(fmt::format("{} on {}: {}, {} parameters, {} road, {}, run folder {}", config.task, device.str(),
                  trainer_->source(), trainer_->policy().num_parameters, road_name(trainer_->road()), config.precision,
                  folder_.path().string()));
  const std::string reason = choose_road(config, device).reason;
  if (!reason.empty()) say(reason);
  if (!options.sources.empty()) say(fmt::format("configuration: {}", fmt::join(options.sources, ", ")));
  if (log_) say(log_->opening());
}

void TrainRun::open_log(const TrainOptions& options) {
  RolloutLog::Source source = log_source(config_, *trainer_);
  source.expected_iterations = total_iterations_ - counters_.iteration;
  source.resume = !options.resume.empty();
  log_blocks_ = options.log.block;
  log_ = std::make_unique<RolloutLog>(source, options.log);
}

// A log that cannot go on ends the training where it was to hold everything.
void TrainRun::check_log() {
  if (!log_) return;
  const std::string failure = log_->failure();
  if (failure.empty()) return;
  if (log_blocks_) {
    log_failure_ = failure;
    return;
  }
  say(failure + "; the training goes on without its log");
  log_.reset();
}

void TrainRun::close_log() {
  if (!log_) return;
  try {
    log_->close();
  } catch (const Error& e) {
    if (log_blocks_ && log_failure_.empty()) log_failure_ = e.what();
    if (!log_blocks_) say(e.what());
  }
  if (!quiet_) say(log_->summary());
}

void TrainRun::say(const std::string& line) {
  progress_.message(line);
  if (observer_ != nullptr) observer_->message(line);
}

void TrainRun::deliver(const IterationMetrics& m) {
  folder_.keep();
  count_iteration(counters_, config_, m);
  if (m.skipped_updates > 0)
    say(fmt::format("iteration {}: {} updates left out, their gradient was not finite", m.iteration,
                    m.skipped_updates));
  if (m.episodes.overflows > 0 && !overflow_reported_) {
    overflow_reported_ = true;
    say(
        fmt::format("iteration {}: {} steps had more contacts or constraint rows than a world has room "
                    "for, the rest exerted no force (reported once)",
                    m.iteration, m.episodes.overflows));
  }
  if (m.episodes.nonfinite > 0 && !non_finite_reported_) {
    non_finite_reported_ = true;
    say(
        fmt::format("iteration {}: {} worlds turned non-finite and were reset (reported once, counted in "
                    "charts/non_finite_worlds)",
                    m.iteration, m.episodes.nonfinite));
  }
  if (m.iteration % config_.log_interval == 0 || m.iteration == total_iterations_) write_row(m);
  if (quiet_) return;
  ProgressState state;
  state.steps = counters_.global_step;
  state.total_steps = total_iterations_ * steps_per_iteration_;
  const double seconds = elapsed() - evaluation_seconds_;
  state.steps_per_second = seconds > 0 ? static_cast<double>(counters_.global_step - first_step_) / seconds : 0;
  state.episodic_return = last_return_;
  state.episodic_length = last_length_;
  progress_.update(state);
}

void TrainRun::write_row(const IterationMetrics& m) {
  const RunCounters& c = counters_;
  if (c.window_episodes > 0) {
    last_return_ = c.window_return_sum / static_cast<double>(c.window_episodes);
    last_length_ = c.window_length_sum / static_cast<double>(c.window_episodes);
  }
  MetricRow row = metric_row(counters_, config_, m, term_tags_);
  const auto add = [&](std::string_view field, double value) { row.values.emplace_back(field, value); };
  const double seconds = elapsed();
  add("sps", static_cast<double>(c.global_step - first_step_) / std::max(1e-9, seconds - evaluation_seconds_));
  add("wall_time", seconds);
  if (host_iterations_ > 0) add("host_us", 1e6 * host_seconds_ / static_cast<double>(host_iterations_));
  host_seconds_ = 0;
  host_iterations_ = 0;
  if (gpu_ != nullptr) {
    if (const auto sample = gpu_->latest()) {
      add("gpu_utilization", sample->utilization);
      add("gpu_memory_gib", sample->memory_gib);
      add("gpu_power_w", sample->power_w);
      add("gpu_sm_mhz", sample->sm_mhz);
      add("gpu_memory_mhz", sample->memory_mhz);
    }
  }
  metrics_->write(row);
  if (observer_ != nullptr) observer_->row(row);
}

void TrainRun::evaluate() {
  const auto before = Clock::now();
  restore_folder();
  evaluator_.net().load(trainer_->exec(), trainer_->parameters(), trainer_->normalizer_state());
  const EvaluationResult result = evaluator_.run();
  evaluated_ = counters_.iteration;
  const MetricRow row = evaluation_row(counters_, result);
  metrics_->write(row);
  if (observer_ != nullptr) observer_->row(row);
  const bool best = is_best(counters_, result);
  if (best) {
    const Snapshot snapshot = trainer_->save();
    folder_.save_best(snapshot.tensors, checkpoint_metadata({config_, counters_, metrics_->offsets()}));
  }
  evaluation_seconds_ += std::chrono::duration<double>(Clock::now() - before).count();
  const std::string left_out =
      result.non_finite > 0 ? fmt::format(", {} more turned non-finite", result.non_finite) : std::string();
  if (result.episodes == result.non_finite)
    say(fmt::format("{} steps: none of {} evaluation episodes stayed finite",
                    count_text(static_cast<double>(counters_.global_step)), result.episodes));
  else if (!quiet_ || !left_out.empty())
    say(fmt::format("{} steps: {} evaluation episodes, return {:.2f} +- {:.2f}, length {:.1f}{}{}",
                    count_text(static_cast<double>(counters_.global_step)), result.episodes - result.non_finite,
                    result.return_mean, result.return_std, result.length_mean, left_out, best ? ", best so far" : ""));
}

void TrainRun::describe_run() {
  folder_.write("config.toml", to_toml(config_));
  folder_.write("machine.json", machine_);
}

// Somebody may remove the folder of a running training: what is still to come gets a new one.
void TrainRun::restore_folder() {
  if (folder_.is_there()) return;
  folder_.make_again();
  say(removed_text(folder_.path()));
  describe_run();
  metrics_.emplace(folder_.path(), term_tags_);
}

void TrainRun::checkpoint() {
  const auto before = Clock::now();
  restore_folder();
  const Snapshot snapshot = trainer_->save();
  folder_.save_checkpoint(counters_.iteration, snapshot.tensors,
                          checkpoint_metadata({config_, counters_, metrics_->offsets()}));
  folder_.keep();
  saved_ = counters_.iteration;
  evaluation_seconds_ += std::chrono::duration<double>(Clock::now() - before).count();
}

// Everything under way is done; does what is due now.
void TrainRun::settle() {
  while (trainer_->in_flight() > 0) deliver(trainer_->wait());
  const bool end = counters_.iteration >= total_iterations_;
  if (evaluated_ != counters_.iteration && (due(config_.eval_interval) || end)) evaluate();
  if (saved_ != counters_.iteration && (due(config_.checkpoint_interval) || end || stopping())) checkpoint();
}

int TrainRun::run() {
  const Watched watched(observer_, {config_, *trainer_, folder_.path().string(), total_iterations_});
  evaluated_ = counters_.iteration;  // a checkpoint was written after the evaluation of its iteration
  while (counters_.iteration < total_iterations_ && !stopping()) {
    const std::int64_t left = until_boundary(config_, trainer_->enqueued(), total_iterations_);
    const std::int64_t now = std::min(left, trainer_->most_at_once());
    while (trainer_->in_flight() + now > trainer_->depth()) deliver(trainer_->wait());
    const double before = thread_seconds();
    if (log_) log_->begin(trainer_->enqueued());
    trainer_->enqueue(now);
    if (log_) log_->end();
    if (observer_ != nullptr) observer_->queued();
    host_seconds_ += thread_seconds() - before;
    host_iterations_ += now;
    while (auto metrics = trainer_->poll()) deliver(*metrics);
    check_log();
    if (now == left || stopping()) settle();
  }
  settle();
  metrics_->flush();
  close_log();
  const std::string folder = folder_.path().string();
  if (!log_failure_.empty()) {
    const bool done = counters_.iteration >= total_iterations_;
    throw Error(log_failure_ + (done ? std::string("; the training is done and saved")
                                     : fmt::format("; stopped and saved, go on with: {} train --resume {}",
                                                   program_name(), shell_quoted(folder))));
  }
  // one that came after the last iteration has stopped nothing
  const bool stopped = stop_status() != 0 && counters_.iteration < total_iterations_;
  if (stopped && !quiet_)
    say(fmt::format("stopped and saved; go on with: {} train --resume {}", program_name(), shell_quoted(folder)));
  else if (!quiet_)
    say(fmt::format("done in {}; play it with: {} play {}", duration_text(elapsed()), program_name(),
                    shell_quoted(folder)));
  return stopped ? stop_status() : 0;
}

// The newest checkpoint of a run folder: `latest`, or where that was lost the newest numbered one.
Safetensors newest_checkpoint(const std::filesystem::path& run) {
  const std::vector<std::filesystem::path> numbered = numbered_checkpoints(run);
  std::error_code ignored;
  std::filesystem::path path = run / "latest.safetensors";
  if (!std::filesystem::exists(path, ignored)) {
    if (numbered.empty())
      throw Error(fmt::format("run folder '{}' holds no checkpoint yet; start the run anew with: {} train {}",
                              run.string(), program_name(), shell_quoted((run / "config.toml").string())));
    path = numbered.front();
  }
  try {
    return read_checkpoint(path);
  } catch (const Error& e) {
    if (numbered.size() < 2) throw;
    throw Error(std::string(e.what()) + "; remove it to go on from the next older one in " +
                (run / "checkpoints").string());
  }
}

// The newest checkpoint of run folder `run`, of the same run as `config`; nothing for a new run.
std::optional<Safetensors> resumed_checkpoint(const TrainConfig& config, const std::string& run) {
  if (run.empty()) return std::nullopt;
  Safetensors file = newest_checkpoint(run);
  if (file.metadata_value("format_version") == "1" && !find_environment(config.task).spec.reward_terms.empty())
    throw Error(file.name() +
                ": checkpoint format 1 lacks the sums of the reward's terms: go on with the version that " +
                "wrote it (play reads it)");
  const TrainConfig saved = checkpoint_info(file).config;
  std::map<std::string, std::string> kept;
  visit_config(saved, [&](const char* name, const auto& value, const KeyRule& rule) {
    if (!rule.may_change && name != std::string("run_dir")) kept[name] = toml_text(value);
  });
  visit_config(config, [&](const char* name, const auto& value, const KeyRule&) {
    const auto was = kept.find(name);
    if (was != kept.end() && was->second != toml_text(value))
      throw Error(fmt::format("{}: is of a run with {} = {}, the run's config.toml says {}", file.name(), name,
                              was->second, toml_text(value)));
  });
  for (std::size_t i = 0; i < config.env.size(); ++i)
    if (i >= saved.env.size() || !(saved.env[i] == config.env[i]))
      throw Error(fmt::format("{}: is of a run with other options of {}, the run's config.toml says {} = {}",
                              file.name(), config.task, option_spelling(config.env[i].key), config.env[i].text));
  return file;
}

// What a new run begins with; config.init_from becomes the file that a run means.
std::optional<InitialPolicy> initial_policy(TrainConfig& config, const std::string& resume) {
  if (config.init_from.empty() || !resume.empty()) return std::nullopt;
  const EnvEntry& env = find_environment(config.task);
  InitialPolicy initial = read_initial_policy(config, make_policy_spec(config, spec_with_options(env, config.env)));
  config.init_from = initial.file.name();
  return initial;
}

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

int train_command(const TrainConfig& given, const TrainOptions& options) {
  TrainConfig config = given;
  std::optional<InitialPolicy> initial = initial_policy(config, options.resume);
  // a run goes on from any folder
  config.dataset = absolute_path(config.dataset);
  config.init_from = absolute_path(config.init_from);
  listen_for_stop();
  const Device device = parse_device(config.device);
  if (config.capture == "on" && !device.is_cuda())
    throw Error("capture on: needs a CUDA device, this run is on the CPU (device " + config.device + ")");
  choose_road(config, device);
  const std::optional<Safetensors> from = resumed_checkpoint(config, options.resume);
  return TrainRun(config, options, device, from, initial).run();
}

}  // namespace hotloop
