// The latest rollout of a training once more, step by step: simulated again in worlds of its own, from the state that
// the training's worlds had before it and with the actions that it took. What is shown then moves as worlds do; the
// training itself is seen only between two iterations. Costs the training a copy of states and actions a replay, and
// the device a small share of its time.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "sim/core/batch.h"
#include "sim/core/registry.h"
#include "train/trainer.h"

namespace hotloop {

// How far the next rollout has come.
enum class ReplayStage : std::uint8_t {
  not_asked,
  asked,      // the training has not come to where it begins
  begun,      // the state before it was queued
  under_way,  // and so were its actions
};
const char* replay_stage_text(ReplayStage stage);

class RolloutReplay {
 public:
  // exec: of the viewer's thread. Before the training begins: what a step costs is measured here, while nothing else
  // keeps the device busy.
  RolloutReplay(const TrainConfig& config, const EnvEntry& env, const Exec& exec);

  // ---- the training's thread: after an iteration was queued. Waits for nothing.
  void serve(Trainer& trainer);

  // ---- the viewer's thread
  // Lets `seconds` go by: as many steps as they hold, fewer where these would take more than their share of the device.
  // At the end of a rollout waits for the next one.
  void pass(double seconds, double control_period);
  bool shows() const { return first_step_ >= 0; }
  // Steps of the training that the worlds have behind them.
  std::int64_t position() const { return first_step_ + done_steps_; }
  const Batch& batch() const { return *batch_; }
  // What the latest step took and gave; nothing yet where the rollout is at its start.
  const StepBuffers& buffers() const { return buffers_; }
  bool stepped() const { return done_steps_ > 0; }
  double step_seconds() const { return step_seconds_; }
  ReplayStage stage() const;

 private:
  void ask();
  void take_next();
  void step();
  void measure_step();

  const Exec exec_;
  const std::int64_t num_steps_;
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  const std::size_t action_bytes_;  // of a step
  Memory actions_;                  // [num_steps][num_envs] of the rollout that is shown
  std::int64_t first_step_ = -1, done_steps_ = 0;
  double due_ = 0, allowed_ = 0, step_seconds_ = 0;  // [s] of the worlds; of the clock, for steps; of one step

  mutable std::mutex mutex_;  // of all below
  Memory next_state_, next_actions_;
  EventHandle arrived_;
  ReplayStage stage_ = ReplayStage::not_asked;
  std::int64_t state_of_ = 0;  // once begun: iterations before the state in next_state_
};

}  // namespace hotloop
