#include "train/bc.h"

#include <fmt/format.h>

#include <numeric>

#include "data/dataset/table_folder.h"
#include "sim/core/error.h"
#include "sim/core/host_memory.h"
#include "sim/core/value.h"
#include "train/ppo_limits.h"

namespace hotloop {
namespace {

// Half of what is free: networks and their workspaces come on top.
std::size_t resident_limit(Device device) {
  return device.is_cuda() ? cuda_device_info(device.index).free_bytes / 2 : available_memory() / 2;
}

StepData open_dataset(const std::string& folder, const EnvSpec& spec) {
  try {
    StepData data(folder, spec);
    check_next_group(folder);
    return data;
  } catch (const Error& e) {
    const std::string task = task_of_table_folder(folder);
    if (task.empty() || task == spec.name) throw;
    throw Error(fmt::format("{} (it is a dataset of {}, not of {})", e.what(), shown(task), spec.name));
  }
}

}  // namespace

BcTrainer::BcTrainer(const TrainConfig& config, const EnvEntry& env, Device device) : Trainer(config, env, device) {
  const std::int64_t count = config_.num_envs * config_.num_steps;
  const EnvSpec spec = spec_with_options(env, config_.env);
  StepData data = open_dataset(config_.dataset, spec);
  // what follows the KL of a policy has none to follow
  if (update_.lr_schedule == LrSchedule::adaptive) update_.lr_schedule = LrSchedule::constant;
  update_.target_kl = 0;
  try {
    replay_ = std::make_unique<ReplaySource>(std::move(data), spec, device, count,
                                             static_cast<std::uint64_t>(config_.seed), resident_limit(device));
    const auto rows = static_cast<std::size_t>(count);
    rows_ = Buffer<std::int32_t>(device, rows);
    zeros_ = Buffer<float>(device, rows);
    if (policy_.action.is_box())
      samples_of_box_ = Buffer<float>(device, rows * static_cast<std::size_t>(policy_.action.dim()));
    episodes_ = Buffer<EpisodeStats>(device, 1);
    reward_terms_ = Buffer<RewardTermSums>(device, 1);
    variance_ = Buffer<VarianceTerms>(device, 1);
    allocate_network(minibatch_rows(), false);
  } catch (const OutOfMemory& e) {
    throw Error(
        fmt::format("num_envs {} x num_steps {}: {}; take fewer", config_.num_envs, config_.num_steps, e.what()));
  }
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  copy_async(exec_, rows_.data(), device, rows.data(), {}, rows_.bytes());
  synchronize(exec_);
  const Arena& block = replay_->block();
  samples_.observation = block.data<float>("observation");
  if (policy_.action.is_box())
    samples_.sample = samples_of_box_.data();
  else
    samples_.action = block.data<std::int64_t>("action");
  samples_.log_prob = samples_.value = samples_.advantage = samples_.value_target = zeros_.data();
}

BcTrainer::~BcTrainer() { drain(); }

std::string BcTrainer::source() const {
  return fmt::format("{} of {} steps, {} a block{}", config_.dataset, replay_->rows(),
                     config_.num_envs * config_.num_steps, replay_->resident() ? "" : ", read from disk");
}

void BcTrainer::prepare() { replay_->prepare(exec_, enqueued()); }

void BcTrainer::iteration() {
  const std::int64_t count = config_.num_envs * config_.num_steps;
  start_iteration(exec_, update_, control_.data());
  replay_->draw(exec_, head_->view(), control_.data());
  if (policy_.action.is_box())
    samples_of_actions(exec_, count, head_->view(), replay_->block().data<float>("action"), samples_of_box_.data());
  // unlike a rollout's, these observations were not chosen under the statistics so far
  if (normalizer_) normalizer_->update(exec_, count, samples_.observation);
  for (std::int64_t m = 0; m < config_.num_minibatches; ++m) minibatch(samples_, rows_.data() + m * minibatch_rows());
  MetricsRing::Source source;
  source.control = control_.data();
  source.episodes = episodes_.data();
  source.reward_terms = reward_terms_.data();
  source.variance = variance_.data();
  source.samples = 1;
  source.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  source.dim = static_cast<int>(policy_.action.dim());
  ring_.publish(exec_, source);
}

void BcTrainer::loss(const Exec& exec, const LossIo<float>& io) { bc_loss(exec, head_->view(), io); }

}  // namespace hotloop
