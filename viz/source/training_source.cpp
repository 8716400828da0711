#include "viz/source/training_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "train/metric_tags.h"
#include "train/ppo.h"
#include "viz/source/control_infos.h"
#include "viz/source/host_copy.h"

namespace hotloop {
namespace {

constexpr std::size_t kMaxLines = 1000;
constexpr std::size_t kMaxPoints = 4096;  // of a curve; then every other goes

// As metrics.csv names it.
std::string metric_name(std::string_view field) {
  for (const MetricTag& tag : kMetricTags)
    if (tag.field == field) return std::string(tag.name());
  return std::string(field);
}

// Leaves out every other point of the older half.
void thin_out(TelemetryCurve& curve) {
  const std::size_t half = curve.step.size() / 2;
  std::size_t to = 0;
  for (std::size_t from = 0; from < curve.step.size(); ++from) {
    if (from < half && from % 2 == 1) continue;
    curve.step[to] = curve.step[from];
    curve.value[to++] = curve.value[from];
  }
  curve.step.resize(to);
  curve.value.resize(to);
}

}  // namespace

TrainingSource::TrainingSource(const TrainConfig& config, Device device)
    : num_envs_(config.num_envs),
      num_steps_(config.num_steps),
      stream_(device),
      exec_{device, stream_.get(), nullptr},
      staged_done_(device),
      shown_done_(device) {
  const EnvEntry& env = find_environment(config.task);
  const EnvSpec spec = spec_with_options(env, config.env);
  if (env.visual != nullptr) visual_ = env.visual(config.env);
  info_.kind = SourceKind::training;
  info_.name = config.task;
  info_.device = device;
  info_.num_worlds = std::min(config.num_envs, kMaxWorlds);
  info_.control_period = control_period(env, config.env);
  info_.controls = control_infos(env, config.env);
  info_.observation_dim = spec.obs_dim();
  info_.reward_terms = spec.reward_terms;
  info_.can_step = info_.can_control = false;
  const std::int64_t frames = info_.num_worlds * visual_.num_frames();
  staged_ = Buffer<Frame>(device, frames);
  shown_ = Buffer<Frame>(device, frames);
}

TrainingSource::~TrainingSource() {
  try {
    synchronize(exec_);
  } catch (...) {  // the card's own failure has been reported by who met it
  }
}

// ---- the training's thread ------------------------------------------------------------------------------------------

void TrainingSource::started(const Run& run) {
  trainer_ = &run.trainer;
  {
    const std::lock_guard lock(mutex_);
    telemetry_.total_iterations = run.total_iterations;
    telemetry_.run_dir = run.folder;
    const EnvSpec& env = find_environment(run.config.task).spec;
    for (const LeafSpec& leaf : rollout_leaves(run.trainer.policy(), env, run.config.num_steps, run.config.num_envs))
      tensors_.push_back({leaf.name, leaf.shape});
  }
  begin_replay(run);
  serve([this] { stage_frames(); });  // the worlds as they are before anything is trained
}

void TrainingSource::begin_replay(const Run& run) {
  if (visual_.num_frames() == 0) return;
  try {
    auto replay = std::make_unique<RolloutReplay>(run.config, find_environment(run.config.task), exec_);
    const std::lock_guard lock(mutex_);
    replay_ = std::move(replay);
  } catch (const std::exception& e) {  // such as no memory
    message(std::string("worlds are shown between iterations only: ") + e.what());
  }
}

// What the viewer lacks room for must not end the training: it then shows no more than it has.
template <class F>
void TrainingSource::serve(const F& copies) {
  if (!serving_) return;
  try {
    copies();
  } catch (const Error& e) {
    serving_ = false;
    message(std::string("nothing newer is shown: ") + e.what());
  }
}

void TrainingSource::queued() {
  serve([this] {
    leaves_.serve(*trainer_);
    stage_frames();
    if (replay_) replay_->serve(*trainer_);
  });
}

void TrainingSource::stage_frames() {
  const std::lock_guard lock(mutex_);
  telemetry_.iteration = trainer_->enqueued();
  const Exec& exec = trainer_->exec();
  const Batch* batch = trainer_->batch();
  if (want_frames_ && !frames_under_way_ && batch != nullptr && visual_.num_frames() > 0 && shown_done_.reached()) {
    batch->write_frames(exec, 0, info_.num_worlds, staged_.data());
    staged_done_.record(exec);
    want_frames_ = false;
    frames_under_way_ = true;
  }
}

void TrainingSource::row(const MetricRow& row) {
  const std::lock_guard lock(mutex_);
  news_ = true;
  telemetry_.global_step = row.global_step;
  for (const auto& [field, value] : row.values) {
    if (field == "sps") telemetry_.steps_per_second = value;
    if (field == "wall_time") telemetry_.elapsed_seconds = value;
    const auto [at, is_new] = curve_of_.try_emplace(std::string(field), telemetry_.curves.size());
    if (is_new) telemetry_.curves.push_back({metric_name(field), {}, {}});
    TelemetryCurve& curve = telemetry_.curves[at->second];
    curve.step.push_back(static_cast<double>(row.global_step));
    curve.value.push_back(value);
    if (curve.step.size() > kMaxPoints) thin_out(curve);
  }
}

void TrainingSource::message(const std::string& line) {
  const std::lock_guard lock(mutex_);
  news_ = true;
  auto& lines = telemetry_.log_lines;
  lines.push_back(line);
  if (lines.size() > kMaxLines) lines.erase(lines.begin());
}

void TrainingSource::ended() noexcept {
  const std::lock_guard lock(mutex_);
  news_ = telemetry_.finished = true;
  try {
    synchronize(trainer_->exec());  // copies that were queued have arrived
  } catch (...) {                   // reported by the training itself
  }
  trainer_ = nullptr;
}

// ---- the viewer's thread --------------------------------------------------------------------------------------------

RolloutReplay* TrainingSource::replay() const {
  const std::lock_guard lock(mutex_);
  return replay_ && replay_->shows() ? replay_.get() : nullptr;
}

std::string TrainingSource::replay_text() const {
  const std::lock_guard lock(mutex_);
  if (!replay_) return "no rollout is replayed";
  return fmt::format("next rollout: {}; a step takes {:.3g} ms", replay_stage_text(replay_->stage()),
                     1e3 * replay_->step_seconds());
}

void TrainingSource::pass(double seconds) {
  std::unique_lock lock(mutex_);
  RolloutReplay* replay = replay_.get();
  lock.unlock();  // what comes may take a while
  if (replay != nullptr) replay->pass(seconds, info_.control_period);
}

void TrainingSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  if (const RolloutReplay* again = replay()) return again->batch().write_frames(exec_, first, count, out);
  const std::lock_guard lock(mutex_);
  if (frames_under_way_ && !have_frames_) staged_done_.synchronize();
  if (frames_under_way_ && staged_done_.reached()) {
    std::swap(staged_, shown_);
    frames_under_way_ = false;
    have_frames_ = true;
  }
  want_frames_ = true;
  if (!have_frames_) return;
  const std::int64_t frames = visual_.num_frames();
  copy_async(exec_, out, exec_.device, shown_.data() + first * frames, exec_.device,
             static_cast<std::size_t>(count * frames) * sizeof(Frame));
  shown_done_.record(exec_);  // before that nothing is written to what is staged next
}

std::int64_t TrainingSource::position() const {
  if (const RolloutReplay* again = replay()) return again->position();
  const std::lock_guard lock(mutex_);
  return telemetry_.iteration * num_steps_;
}

std::vector<float> TrainingSource::shown_worlds(const std::string& leaf) {
  std::vector<float> values = leaves_.ask(leaf, -1, 1);
  values.resize(values.size() / static_cast<std::size_t>(num_envs_) * static_cast<std::size_t>(info_.num_worlds));
  return values;
}

std::vector<float> TrainingSource::replayed_actions(std::int64_t first, std::int64_t rows) const {
  const StepBuffers& b = replay_->buffers();
  const auto dim = static_cast<std::int64_t>(info_.controls.size());
  if (replay_->batch().spec().action.is_box())
    return to_host(exec_, reinterpret_cast<const float*>(b.action.data()) + first * dim, rows * dim);
  const std::vector<std::int64_t> choices =
      to_host(exec_, reinterpret_cast<const std::int64_t*>(b.action.data()) + first * dim, rows * dim);
  return {choices.begin(), choices.end()};
}

WorldReport TrainingSource::replayed(std::int64_t world) const {
  const StepBuffers& b = replay_->buffers();
  const auto one = [&](const auto* from) { return to_host(exec_, from + world, 1)[0]; };
  WorldReport report;
  report.observation = to_host(exec_, b.observation.data() + world * info_.observation_dim, info_.observation_dim);
  report.action = replayed_actions(world, 1);
  report.reward = one(b.reward.data());
  report.terminated = one(b.terminated.data()) != 0;
  report.truncated = one(b.truncated.data()) != 0;
  const auto terms = static_cast<std::int64_t>(info_.reward_terms.size());
  if (terms > 0) report.reward_terms = to_host(exec_, b.reward_terms.data() + world * terms, terms);
  return report;
}

void TrainingSource::read_observations(std::vector<float>& out) {
  if (const RolloutReplay* again = replay(); again != nullptr && again->stepped())
    out = to_host(exec_, again->buffers().observation.data(), info_.num_worlds * info_.observation_dim);
  else
    out = shown_worlds("observation");
}

void TrainingSource::read_actions(std::vector<float>& out) {
  if (const RolloutReplay* again = replay(); again != nullptr && again->stepped())
    out = replayed_actions(0, info_.num_worlds);
  else
    out = shown_worlds("action");
}

WorldReport TrainingSource::report(std::int64_t world) {
  if (const RolloutReplay* again = replay(); again != nullptr && again->stepped()) return replayed(world);
  WorldReport report;
  const auto item = [&](const char* leaf) {
    const std::vector<float> all = leaves_.ask(leaf, -1, 1);
    const auto size = static_cast<std::ptrdiff_t>(all.size() / static_cast<std::size_t>(num_envs_));
    return std::vector<float>(all.begin() + world * size, all.begin() + (world + 1) * size);
  };
  report.observation = item("observation");
  report.action = item("action");
  const auto first = [](const std::vector<float>& values) { return values.empty() ? 0.0f : values[0]; };
  report.reward = first(item("next/reward"));
  report.terminated = first(item("next/terminated")) != 0;
  report.truncated = first(item("next/truncated")) != 0;
  if (!info_.reward_terms.empty()) report.reward_terms = item(kRewardTermsKey);
  return report;
}

std::vector<WorldSource::TensorInfo> TrainingSource::tensors() {
  const std::lock_guard lock(mutex_);
  return tensors_;
}

std::vector<float> TrainingSource::read_tensor(const std::string& key, std::int64_t limit) {
  return leaves_.ask(key, 0, limit);
}

const Telemetry* TrainingSource::telemetry() {
  const std::lock_guard lock(mutex_);
  // curves are long: copied where something has come, the counter always
  if (news_) published_ = telemetry_;
  news_ = false;
  published_.iteration = telemetry_.iteration;
  return &published_;
}

}  // namespace hotloop
