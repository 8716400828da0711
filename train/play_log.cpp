#include "train/play_log.h"

#include "sim/core/error.h"

namespace hotloop {
namespace {

std::vector<LeafSpec> leaves(const PolicySpec& policy, const Batch& batch, std::int64_t t) {
  const std::int64_t n = batch.num_envs(), terms = static_cast<std::int64_t>(batch.spec().reward_terms.size());
  const ActionSpace& space = policy.action;
  std::vector<std::int64_t> action = {t, n};
  if (space.kind != ActionSpace::Kind::discrete) action.push_back(space.dim());
  std::vector<LeafSpec> list = {{"observation", DType::f32, {t + 1, n, policy.obs_dim}},
                                {"action", space.is_box() ? DType::f32 : DType::i64, action},
                                {"next/reward", DType::f32, {t, n, 1}},
                                {"next/terminated", DType::boolean, {t, n, 1}},
                                {"next/truncated", DType::boolean, {t, n, 1}},
                                {"final_observation", DType::f32, {t, n, policy.obs_dim}}};
  if (terms > 0) list.push_back({kRewardTermsKey, DType::f32, {t, n, terms}});
  return list;
}

}  // namespace

PlayLog::PlayLog(const TrainConfig& config, const PolicySpec& policy, const LogOptions& options)
    : config_(config), policy_(policy), options_(options) {}

void PlayLog::start(const Exec& exec, const Batch& batch, std::uint64_t seed) {
  if (log_) throw Error("--log-trajectories: play logs one round of episodes");
  exec_ = exec;
  // the worlds as they are played: replay makes them from this
  config_.num_envs = batch.num_envs();
  config_.num_steps = kSteps;
  config_.seed = static_cast<std::int64_t>(seed);
  config_.random_episode_start = false;
  arena_ = std::make_unique<Arena>(exec.device, leaves(policy_, batch, kSteps));
  RolloutLog::Source source;
  source.exec = exec;
  source.arena = arena_.get();
  source.batch = &batch;
  source.info = describe_run(config_, batch);
  source.info.source = kPlaySource;
  source.expected_iterations = (batch.max_episode_steps() + kSteps - 1) / kSteps;
  log_ = std::make_unique<RolloutLog>(source, options_);
}

void PlayLog::copy(const char* name, std::int64_t row, const void* from) {
  const Leaf& leaf = arena_->leaf(name);
  const std::size_t bytes = leaf.bytes / static_cast<std::size_t>(leaf.shape[0]);
  copy_async(exec_, arena_->bytes(leaf) + static_cast<std::size_t>(row) * bytes, exec_.device, from, exec_.device,
             bytes);
}

void PlayLog::before_step(const float* observation) {
  if (!log_) return;
  if (is_whole()) log_->begin(steps_ / kSteps);
  copy("observation", steps_ % kSteps, observation);
}

void PlayLog::after_step(const StepIo& io) {
  if (!log_) return;
  const std::int64_t row = steps_ % kSteps;
  copy("action", row, io.action);
  copy("next/reward", row, io.reward);
  if (arena_->contains(kRewardTermsKey)) copy(kRewardTermsKey, row, io.reward_terms);
  copy("next/terminated", row, io.terminated);
  copy("next/truncated", row, io.truncated);
  copy("final_observation", row, io.final_observation);
  ++steps_;
  if (!is_whole()) return;
  copy("observation", kSteps, io.observation);
  log_->end();
  check();
}

void PlayLog::check() {
  const std::string failure = log_->failure();
  if (!failure.empty() && options_.block) throw Error(failure);
}

std::string PlayLog::close() {
  try {
    log_->close();
  } catch (const Error& e) {
    if (options_.block) throw;
    return e.what();
  }
  return log_->summary();
}

}  // namespace hotloop
