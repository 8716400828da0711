#include "train/population_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/thread_pool.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/machine.h"
#include "train/member_folder.h"
#include "train/progress.h"
#include "train/run_counters.h"
#include "train/run_dir.h"
#include "train/stop_signal.h"
#include "train/trainer.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// Rows of a member that wait for their way to its files.
constexpr std::size_t kMostRows = 64;

struct MemberRecord {
  MemberFolder folder;
  RunCounters counters = {};
  std::vector<MetricRow> rows = {};

  void write_rows(bool durable) {
    folder.write_rows(rows, durable);
    rows.clear();
  }
};

class PopulationRun {
 public:
  PopulationRun(const Population& population, const TrainOptions& options, Device device, RunDir& folder);
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  const TrainConfig& config() const { return population_.members.front(); }
  std::int64_t iteration() const { return members_.front().counters.iteration; }
  bool due(std::int64_t interval) const { return interval > 0 && iteration() % interval == 0; }
  void load(std::int64_t iteration);
  void deliver(const std::vector<IterationMetrics>& metrics);
  void restore_folders();
  void flush_rows();
  void evaluate();
  void checkpoint();
  void settle();
  // f(k) for every member, on all threads.
  template <class F>
  void for_members(F f) {
    for_ranges({{}, nullptr, &pool_}, static_cast<std::int64_t>(members_.size()), 1, [&](auto begin, auto end) {
      for (auto k = begin; k < end; ++k) f(static_cast<std::size_t>(k));
    });
  }

  const Population& population_;
  const EnvEntry& env_;
  ThreadPool pool_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<MemberRecord> members_;
  std::vector<std::string> term_tags_;
  ProgressLine progress_;
  std::int64_t total_, evaluated_ = 0, saved_ = -1, first_step_ = 0;
  bool quiet_;
  Clock::time_point start_ = Clock::now();
  double standing_seconds_ = 0;
};

PopulationRun::PopulationRun(const Population& population, const TrainOptions& options, Device device, RunDir& folder)
    : population_(population),
      env_(find_environment(population.members.front().task)),
      pool_(static_cast<int>(config().num_threads)),
      trainer_(make_population_trainer(population.members, env_, device)),
      term_tags_(reward_term_tags(env_)),
      total_(num_iterations(config())),
      quiet_(options.quiet) {
  folder.keep();  // the card has room for them
  const std::string machine = describe_machine(options.command_line, device);
  for (std::size_t k = 0; k < population.members.size(); ++k) {
    members_.push_back({{population.member_folder(k), population.members[k], machine, term_tags_}});
    members_.back().counters.window_reward_terms.resize(term_tags_.size());
  }
  std::vector<fs::path> folders;
  for (const MemberRecord& member : members_) folders.push_back(member.folder.path());
  const std::int64_t from = options.resume.empty() ? 0 : common_checkpoint(folders);
  if (from > 0) {
    load(from);
  } else {
    fs::remove_all(population.folder / "members");  // of a population that was stopped before all had a checkpoint
    for_members([this](std::size_t k) { members_[k].folder.create(); });
  }
  evaluated_ = iteration();
  first_step_ = members_.front().counters.global_step;
  if (quiet_) return;
  progress_.message(fmt::format("{} on {}: {} members, {} each, {} parameters, {} road, {}, folder {}", config().task,
                                device.str(), members_.size(), trainer_->source(), trainer_->policy().num_parameters,
                                road_name(trainer_->road()), config().precision, population.folder.string()));
}

void PopulationRun::load(std::int64_t iteration) {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const Safetensors file =
        read_checkpoint(members_[k].folder.path() / "checkpoints" / fmt::format("{:08}.safetensors", iteration));
    const CheckpointInfo info = checkpoint_info(file);
    if (info.config.seed != population_.members[k].seed || info.counters.iteration != iteration)
      throw Error(file.name() + ": is not of this member");
    trainer_->load(file, static_cast<std::int64_t>(k));
    members_[k].counters = info.counters;
    members_[k].folder.go_on(info.offsets);
  }
  saved_ = iteration;
}

void PopulationRun::deliver(const std::vector<IterationMetrics>& metrics) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  for_members([&](std::size_t k) {
    MemberRecord& member = members_[k];
    const TrainConfig& own = population_.members[k];
    count_iteration(member.counters, own, metrics[k]);
    if (member.counters.iteration % own.log_interval != 0 && member.counters.iteration != total_) return;
    MetricRow row = metric_row(member.counters, own, metrics[k], term_tags_);
    row.values.emplace_back("wall_time", seconds);
    member.rows.push_back(std::move(row));
  });
  if (members_.front().rows.size() >= kMostRows) flush_rows();
  if (quiet_) return;
  const auto count = static_cast<std::int64_t>(members_.size());
  ProgressState state;
  state.steps = count * members_.front().counters.global_step;
  state.total_steps = count * total_ * config().num_envs * config().num_steps;
  const double training = seconds - standing_seconds_;
  state.steps_per_second =
      training > 0 ? static_cast<double>(state.steps - count * first_step_) / training : ProgressState::kUnknown;
  progress_.update(state);
}

// Somebody may remove a member's folder: what is still to come gets a new one.
void PopulationRun::restore_folders() {
  for (MemberRecord& member : members_)
    if (member.folder.restore()) progress_.message(removed_text(member.folder.path()));
}

void PopulationRun::flush_rows() {
  restore_folders();
  for_members([&](std::size_t k) { members_[k].write_rows(false); });
}

void PopulationRun::evaluate() {
  restore_folders();
  for (std::size_t k = 0; k < members_.size(); ++k) {
    MemberRecord& member = members_[k];
    const TrainConfig& own = population_.members[k];
    const auto index = static_cast<std::int64_t>(k);
    Evaluator evaluator(env_, own.env, trainer_->policy(), trainer_->exec(), own.eval_episodes,
                        static_cast<std::uint64_t>(own.seed), static_cast<int>(own.max_episode_steps), false);
    evaluator.net().load(trainer_->exec(), trainer_->parameters(index), trainer_->normalizer_state(index));
    const EvaluationResult result = evaluator.run();
    member.rows.push_back(evaluation_row(member.counters, result));
    if (!is_best(member.counters, result)) continue;
    member.write_rows(true);
    member.folder.save_best(trainer_->save(index).tensors, member.counters);
  }
  evaluated_ = iteration();
  if (quiet_) return;
  const auto best = std::max_element(members_.begin(), members_.end(), [](const auto& a, const auto& b) {
    return a.counters.best_return < b.counters.best_return;
  });
  progress_.message(fmt::format("{} steps each: best evaluation so far {:.2f}, member {}",
                                count_text(static_cast<double>(best->counters.global_step)), best->counters.best_return,
                                best - members_.begin()));
}

void PopulationRun::checkpoint() {
  restore_folders();
  std::vector<Snapshot> snapshots;
  for (std::size_t k = 0; k < members_.size(); ++k) snapshots.push_back(trainer_->save(static_cast<std::int64_t>(k)));
  for_members([&](std::size_t k) {
    members_[k].write_rows(true);
    members_[k].folder.save_checkpoint(snapshots[k].tensors, members_[k].counters);
  });
  saved_ = iteration();
}

// Everything under way is done; does what is due now.
void PopulationRun::settle() {
  while (trainer_->in_flight() > 0) deliver(trainer_->wait_members());
  const auto before = Clock::now();
  const bool end = iteration() >= total_;
  if (evaluated_ != iteration() && (due(config().eval_interval) || end)) evaluate();
  if (saved_ != iteration() && (due(config().checkpoint_interval) || end || stop_status() != 0)) checkpoint();
  standing_seconds_ += std::chrono::duration<double>(Clock::now() - before).count();
}

int PopulationRun::run() {
  while (iteration() < total_ && stop_status() == 0) {
    const std::int64_t left = until_boundary(config(), trainer_->enqueued(), total_);
    const std::int64_t now = std::min(left, trainer_->most_at_once());
    while (trainer_->in_flight() + now > trainer_->depth()) deliver(trainer_->wait_members());
    trainer_->enqueue(now);
    for (auto m = trainer_->poll_members(); !m.empty(); m = trainer_->poll_members()) deliver(m);
    if (now == left || stop_status() != 0) settle();
  }
  settle();
  return iteration() < total_ ? stop_status() : 0;
}

}  // namespace

int train_together(const Population& population, const TrainOptions& options, Device device, RunDir& folder) {
  return PopulationRun(population, options, device, folder).run();
}

}  // namespace hotloop
