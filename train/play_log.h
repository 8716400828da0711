// Logs an evaluation's steps as a training's rollouts are: what Evaluator steps is copied into an arena, whose rows a
// RolloutLog takes an iteration at a time.
#pragma once
#include <cstdint>
#include <memory>

#include "data/arena.h"
#include "train/config.h"
#include "train/policy_spec.h"
#include "train/rollout_log.h"

namespace hotloop {

class PlayLog {
 public:
  // `config`: of the policy's run. Nothing is written before start().
  PlayLog(const TrainConfig& config, const PolicySpec& policy, const LogOptions& options);

  // Worlds that were just reset. Error where the log cannot be begun, or on a second call: a log is of one batch.
  void start(const Exec& exec, const Batch& batch, std::uint64_t seed);
  void before_step(const float* observation);
  void after_step(const StepIo& io);  // Error where it cannot be written any more, unless the policy is `sample`
  // Whether the steps so far are whole iterations; only those are logged.
  bool is_whole() const { return steps_ % kSteps == 0; }
  // Ends the log; a line: what was logged.
  std::string close();

 private:
  static constexpr std::int64_t kSteps = 32;  // of an iteration

  void copy(const char* leaf, std::int64_t row, const void* from);
  void check();

  TrainConfig config_;
  PolicySpec policy_;
  LogOptions options_;
  Exec exec_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<RolloutLog> log_;
  std::int64_t steps_ = 0;
};

}  // namespace hotloop
