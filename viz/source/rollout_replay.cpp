#include "viz/source/rollout_replay.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCardShare = 0.01, kHostShare = 0.05;  // of the time, for steps
constexpr double kMeasuring = 0.05;                     // [s] at most, unless one step takes longer

std::unique_ptr<Batch> same_worlds(const TrainConfig& config, const EnvEntry& env, Device device) {
  BatchConfig batch;
  batch.num_envs = config.num_envs;
  batch.seed = static_cast<std::uint64_t>(config.seed);
  batch.device = device;
  batch.max_episode_steps = static_cast<int>(config.max_episode_steps);
  batch.random_episode_start = config.random_episode_start;
  batch.options = config.env;
  return env.make(batch);
}

}  // namespace

const char* replay_stage_text(ReplayStage stage) {
  switch (stage) {
    case ReplayStage::not_asked:
      return "not asked for";
    case ReplayStage::asked:
      return "asked for, its first state was not queued";
    case ReplayStage::begun:
      return "its first state was queued, its actions were not";
    case ReplayStage::under_way:
      return "queued as a whole, has not arrived";
  }
  return "";
}

RolloutReplay::RolloutReplay(const TrainConfig& config, const EnvEntry& env, const Exec& exec)
    : exec_(exec),
      num_steps_(config.num_steps),
      batch_(same_worlds(config, env, exec.device)),
      buffers_(batch_->spec(), config.num_envs, exec.device),
      action_bytes_(static_cast<std::size_t>(config.num_envs * batch_->spec().action.dim()) *
                    dtype_size(batch_->spec().action.is_box() ? DType::f32 : DType::i64)),
      actions_(exec.device, action_bytes_ * static_cast<std::size_t>(num_steps_)),
      next_state_(exec.device, batch_->raw_state_bytes()),
      next_actions_(exec.device, actions_.bytes()),
      arrived_(exec.device) {
  batch_->reset(exec_, buffers_.observation.data(), buffers_.action_mask.data());
  measure_step();
}

// Beside a training the clock would count the wait for its kernels, which on a busy card is most of a step.
void RolloutReplay::measure_step() {
  double left = kMeasuring;
  for (int i = 0; i < 4 && left > 0; ++i) {
    const auto start = Clock::now();
    batch_->step(exec_, buffers_.io());
    synchronize(exec_);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    step_seconds_ = i < 2 ? seconds : std::min(step_seconds_, seconds);  // the very first one loads code
    left -= seconds;
  }
}

void RolloutReplay::serve(Trainer& trainer) {
  const std::lock_guard lock(mutex_);
  if ((stage_ != ReplayStage::asked && stage_ != ReplayStage::begun) || trainer.batch() == nullptr) return;
  if (trainer.rollout() == nullptr) {
    trainer.show_rollout();
    return;
  }
  const Exec& exec = trainer.exec();
  const auto copy = [&](const Memory& to, const std::byte* from, std::size_t bytes) {
    copy_async(exec, to.data(), exec.device, from, exec.device, bytes);
  };
  // the actions there are those of one iteration: of several queued at once the state before the last is gone
  if (stage_ == ReplayStage::begun && state_of_ + 1 == trainer.enqueued()) {
    trainer.update_rollout();
    copy(next_actions_, trainer.rollout()->bytes(trainer.rollout()->leaf("action")), next_actions_.bytes());
    arrived_.record(exec);
    stage_ = ReplayStage::under_way;
    return;
  }
  copy(next_state_, trainer.batch()->raw_state(), next_state_.bytes());
  state_of_ = trainer.enqueued();
  stage_ = ReplayStage::begun;
}

void RolloutReplay::take_next() {
  {
    const std::lock_guard lock(mutex_);
    if (stage_ != ReplayStage::under_way || !arrived_.reached()) return;
  }
  copy_async(exec_, batch_->raw_state(), exec_.device, next_state_.data(), exec_.device, next_state_.bytes());
  // the training writes what is read here as soon as the next one is asked for: no step may still be queued
  synchronize(exec_);
  std::swap(actions_, next_actions_);
  const std::lock_guard lock(mutex_);
  first_step_ = state_of_ * num_steps_;
  done_steps_ = 0;
  stage_ = ReplayStage::not_asked;
}

void RolloutReplay::step() {
  copy_async(exec_, buffers_.action.data(), exec_.device,
             actions_.data() + static_cast<std::size_t>(done_steps_) * action_bytes_, exec_.device, action_bytes_);
  batch_->step(exec_, buffers_.io());
  if (2 * ++done_steps_ >= num_steps_) ask();  // is here when this one ends
}

ReplayStage RolloutReplay::stage() const {
  const std::lock_guard lock(mutex_);
  return stage_;
}

void RolloutReplay::ask() {
  const std::lock_guard lock(mutex_);
  if (stage_ == ReplayStage::not_asked) stage_ = ReplayStage::asked;
}

void RolloutReplay::pass(double seconds, double control_period) {
  if (!shows() || done_steps_ == num_steps_) take_next();
  if (!shows()) return ask();
  const double share = exec_.device.is_cuda() ? kCardShare : kHostShare;
  allowed_ = std::min(allowed_ + share * seconds, std::max(share, step_seconds_));
  due_ += seconds;
  while (due_ >= control_period && done_steps_ < num_steps_ && allowed_ >= step_seconds_) {
    step();
    due_ -= control_period;
    allowed_ -= step_seconds_;
  }
  due_ = std::min(due_, control_period);  // slower rather than in jumps
}

}  // namespace hotloop
