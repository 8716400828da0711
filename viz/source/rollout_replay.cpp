#include "viz/source/rollout_replay.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShare = 0.05;  // of the time, for steps

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
}

void RolloutReplay::serve(Trainer& trainer) {
  const std::lock_guard lock(mutex_);
  if (!wanted_ || trainer.batch() == nullptr) return;
  if (trainer.rollout() == nullptr) {
    trainer.show_rollout();
    return;
  }
  const Exec& exec = trainer.exec();
  const auto copy = [&](const Memory& to, const std::byte* from, std::size_t bytes) {
    copy_async(exec, to.data(), exec.device, from, exec.device, bytes);
  };
  if (state_of_ < 0 || state_of_ + 1 != trainer.enqueued()) {
    copy(next_state_, trainer.batch()->raw_state(), next_state_.bytes());
    state_of_ = trainer.enqueued();
    return;
  }
  trainer.update_rollout();
  copy(next_actions_, trainer.rollout()->bytes(trainer.rollout()->leaf("action")), next_actions_.bytes());
  arrived_.record(exec);
  wanted_ = false;
  under_way_ = true;
}

void RolloutReplay::take_next() {
  {
    const std::lock_guard lock(mutex_);
    if (!under_way_ || !arrived_.reached()) return;
  }
  copy_async(exec_, batch_->raw_state(), exec_.device, next_state_.data(), exec_.device, next_state_.bytes());
  synchronize(exec_);
  std::swap(actions_, next_actions_);
  const std::lock_guard lock(mutex_);
  first_step_ = state_of_ * num_steps_;
  done_steps_ = 0;
  state_of_ = -1;
  under_way_ = false;
}

void RolloutReplay::step() {
  const auto start = Clock::now();
  copy_async(exec_, buffers_.action.data(), exec_.device,
             actions_.data() + static_cast<std::size_t>(done_steps_) * action_bytes_, exec_.device, action_bytes_);
  batch_->step(exec_, buffers_.io());
  synchronize(exec_);
  // the very first step loads code, and any may wait for others on the same machine
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (warm_) step_seconds_ = step_seconds_ > 0 ? std::min(seconds, 2 * step_seconds_) : seconds;
  warm_ = true;
  if (2 * ++done_steps_ >= num_steps_) ask();  // is here when this one ends
}

void RolloutReplay::ask() {
  const std::lock_guard lock(mutex_);
  wanted_ = wanted_ || !under_way_;
}

void RolloutReplay::pass(double seconds, double control_period) {
  if (!shows() || done_steps_ == num_steps_) take_next();
  if (!shows()) return ask();
  allowed_ = std::min(allowed_ + kShare * seconds, std::max(kShare, step_seconds_));
  due_ += seconds;
  while (due_ >= control_period && done_steps_ < num_steps_ && allowed_ >= step_seconds_) {
    step();
    due_ -= control_period;
    allowed_ -= step_seconds_;
  }
  due_ = std::min(due_, control_period);  // slower rather than in jumps
}

}  // namespace hotloop
