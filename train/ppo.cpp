#include "train/ppo.h"

#include <algorithm>
#include <new>

#include "sim/core/error.h"
#include "sim/core/host_memory.h"
#include "train/ppo_limits.h"

namespace hotloop {
std::vector<LeafSpec> rollout_leaves(const PolicySpec& policy, const EnvSpec& env, std::int64_t num_steps,
                                     std::int64_t num_envs) {
  const std::int64_t t = num_steps, n = num_envs;
  const bool box = policy.action.is_box();
  const bool scalar_action = policy.action.kind == ActionSpace::Kind::discrete;
  std::vector<std::int64_t> action = {t, n};
  if (!scalar_action) action.push_back(policy.action.dim());
  std::vector<LeafSpec> leaves = {
      {"observation", DType::f32, {t + 1, n, policy.obs_dim}},
      {"action", box ? DType::f32 : DType::i64, action},
      {"sample_log_prob", DType::f32, {t, n}},
      {"state_value", DType::f32, {t, n, 1}},
      {"advantage", DType::f32, {t, n, 1}},
      {"value_target", DType::f32, {t, n, 1}},
      {"next/reward", DType::f32, {t, n, 1}},
      {"next/terminated", DType::boolean, {t, n, 1}},
      {"next/truncated", DType::boolean, {t, n, 1}},
      {"final_observation", DType::f32, {t, n, policy.obs_dim}},
  };
  if (box) leaves.push_back({"policy_sample", DType::f32, {t, n, policy.action.dim()}});
  if (policy.has_action_mask) leaves.push_back({"action_mask", DType::boolean, {t + 1, n, policy.head_dim()}});
  const auto terms = static_cast<std::int64_t>(env.reward_terms.size());
  if (terms > 0) leaves.push_back({kRewardTermsKey, DType::f32, {t, n, terms}});
  return leaves;
}

PpoTrainer::PpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device) : Trainer(config, env, device) {
  // what one kernel does is FusedPpoTrainer's
  if (device.is_cuda() && !choose_road(config, device).layered) road_ = Road::generic;
  // what this process holds when it fails comes back when it leaves: of a card, count on the whole
  const double usable = device.is_cuda() ? static_cast<double>(cuda_device_info(device.index).total_bytes)
                                         : static_cast<double>(available_memory());
  try {
    if (!device.is_cuda()) check_memory(config_, policy_, env_.spec);
    allocate();
  } catch (const OutOfMemory& e) {
    refuse_size(config_, policy_, env_.spec, device, e.what(), usable);
  } catch (const std::bad_alloc&) {
    refuse_size(config_, policy_, env_.spec, device, device.str() + ": out of memory", usable);
  }
  begin_run();
}

PpoTrainer::~PpoTrainer() { drain(); }

std::string PpoTrainer::source() const { return worlds_text(); }

void PpoTrainer::allocate() {
  const Device device = exec_.device;
  const std::int64_t n = config_.num_envs, t = config_.num_steps;
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  arena_ = std::make_unique<Arena>(device, rollout_leaves(policy_, env_.spec, t, n));
  batch_ = make_worlds(config_.seed);
  permutation_ = std::make_unique<Permutation>(device, n * t, static_cast<std::uint64_t>(config_.seed));
  if (config_.normalize_reward) reward_normalizer_ = std::make_unique<RewardNormalizer>(device, n, t, config_.gamma);

  const std::int64_t slots = bootstrap_slots(t, batch_->max_episode_steps());
  allocate_network(slots * n, policy_.has_action_mask);
  if (network_->has_ppo_pass())
    advantage_sums_ = std::make_unique<AdvantageSums>(device, minibatch_rows(), config_.num_minibatches);
  episodes_ = Buffer<EpisodeStats>(device, 1);
  reward_terms_ = Buffer<RewardTermSums>(device, 1);
  variance_ = Buffer<VarianceTerms>(device, 1);
  variance_scratch_ = Buffer<VarianceTerms>(device, size(variance_scratch(n * t)));
  head_out_ = Buffer<float>(device, size(n * policy_.head_dim()));
  normalized_ = Buffer<float>(device, size(std::max(n, slots * n) * policy_.obs_dim));
  last_value_ = Buffer<float>(device, size(n));
  bootstrap_observation_ = Buffer<float>(device, size(slots * n * policy_.obs_dim));
  bootstrap_value_ = Buffer<float>(device, size(slots * n));
  bind_rollout();
}

// Where kernels find the rollout: addresses in the arena.
void PpoTrainer::bind_rollout() {
  const Arena& a = *arena_;
  RolloutView& r = rollout_;
  r.num_steps = config_.num_steps;
  r.num_envs = config_.num_envs;
  r.obs_dim = policy_.obs_dim;
  r.reward = a.data<float>("next/reward");
  r.terminated = a.data<std::uint8_t>("next/terminated");
  r.truncated = a.data<std::uint8_t>("next/truncated");
  r.final_observation = a.data<float>("final_observation");
  r.value = a.data<float>("state_value");
  r.last_value = last_value_.data();
  r.bootstrap_slots = bootstrap_slots(config_.num_steps, batch_->max_episode_steps());
  r.bootstrap_observation = bootstrap_observation_.data();
  r.bootstrap_value = bootstrap_value_.data();
  r.advantage = a.data<float>("advantage");
  r.value_target = a.data<float>("value_target");
  const bool box = policy_.action.is_box();
  samples_.observation = a.data<float>("observation");
  if (box)
    samples_.sample = a.data<float>("policy_sample");
  else
    samples_.action = a.data<std::int64_t>("action");
  if (policy_.has_action_mask) samples_.mask = a.data<std::uint8_t>("action_mask");
  samples_.log_prob = a.data<float>("sample_log_prob");
  samples_.value = r.value;
  samples_.advantage = r.advantage;
  samples_.value_target = r.value_target;
}

float* PpoTrainer::observation(std::int64_t t) const {
  return arena_->data<float>("observation") + t * config_.num_envs * policy_.obs_dim;
}

std::uint8_t* PpoTrainer::action_mask(std::int64_t t) const {
  if (!policy_.has_action_mask) return nullptr;
  return arena_->data<std::uint8_t>("action_mask") + t * config_.num_envs * policy_.head_dim();
}

void PpoTrainer::begin_run() {
  batch_->reset(exec_, observation(config_.num_steps), action_mask(config_.num_steps));
  synchronize(exec_);
}

void PpoTrainer::iteration() {
  start_iteration(exec_, update_, control_.data());
  collect();
  advantages();
  update();
  finish_iteration();
}

void PpoTrainer::collect() {
  // the last row of the previous rollout is the first of this one
  const std::int64_t t = config_.num_steps;
  const auto bytes = static_cast<std::size_t>(config_.num_envs * policy_.obs_dim) * sizeof(float);
  copy_async(exec_, observation(0), exec_.device, observation(t), exec_.device, bytes);
  if (policy_.has_action_mask)
    copy_async(exec_, action_mask(0), exec_.device, action_mask(t), exec_.device,
               static_cast<std::size_t>(config_.num_envs * policy_.head_dim()));
  const RolloutWork work = rollout_work();
  if (network_->has_rollout(work)) return network_->rollout(exec_, work);
  for (std::int64_t step = 0; step < t; ++step) rollout_step(step);
}

// The whole rollout, for a network that steps the worlds itself.
RolloutWork PpoTrainer::rollout_work() const {
  RolloutWork work;
  work.num_steps = config_.num_steps, work.num_envs = config_.num_envs, work.obs_dim = policy_.obs_dim;
  work.built_in = env_.per_lane ? -1 : env_.built_in;
  work.book = batch_->book_view(), work.words = batch_->state_words();
  if (normalizer_) work.normalizer = normalizer_->view();
  work.head = head_->view();
  work.key = draw_key(0);
  work.observation = observation(0), work.value = arena_->data<float>("state_value");
  work.sample = sample_io(0), work.step = step_io(0);
  return work;
}

void PpoTrainer::rollout_step(std::int64_t t) {
  const std::int64_t n = config_.num_envs;
  const float* input = observation(t);
  if (normalizer_) {
    normalizer_->apply(exec_, n, input, normalized_.data());
    input = normalized_.data();
  }
  network_->act(exec_, n, input, head_out_.data(), arena_->data<float>("state_value") + t * n);
  sample_actions(exec_, n, head_->view(), draw_key(t), false, sample_io(t));
  batch_->step(exec_, step_io(t));
}

DrawKey PpoTrainer::draw_key(std::int64_t t) const {
  DrawKey key;
  key.seed = static_cast<std::uint64_t>(config_.seed);
  key.control = control_.data();
  key.num_steps = config_.num_steps;
  key.t = t;
  return key;
}

SampleIo PpoTrainer::sample_io(std::int64_t t) const {
  const std::int64_t row = t * config_.num_envs, dim = policy_.action.dim();
  SampleIo sample;
  sample.head = head_out_.data();
  sample.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  sample.mask = action_mask(t);
  if (policy_.action.is_box()) {
    sample.action = arena_->data<float>("action") + row * dim;
    sample.sample = arena_->data<float>("policy_sample") + row * dim;
  } else {
    sample.action = arena_->data<std::int64_t>("action") + row * dim;
  }
  sample.log_prob = arena_->data<float>("sample_log_prob") + row;
  return sample;
}

StepIo PpoTrainer::step_io(std::int64_t t) const {
  const Arena& a = *arena_;
  const std::int64_t row = t * config_.num_envs;
  StepIo io;
  io.action = sample_io(t).action;
  io.observation = observation(t + 1);
  io.reward = a.data<float>("next/reward") + row;
  io.terminated = a.data<std::uint8_t>("next/terminated") + row;
  io.truncated = a.data<std::uint8_t>("next/truncated") + row;
  io.final_observation = a.data<float>("final_observation") + row * policy_.obs_dim;
  io.action_mask = action_mask(t + 1);
  if (const auto terms = static_cast<std::int64_t>(env_.spec.reward_terms.size()); terms > 0)
    io.reward_terms = a.data<float>(kRewardTermsKey) + row * terms;
  return io;
}

void PpoTrainer::advantages() {
  const std::int64_t n = config_.num_envs;
  const auto value_of = [&](const float* from, std::int64_t rows, float* value) {
    if (normalizer_) {
      normalizer_->apply(exec_, rows, from, normalized_.data());
      from = normalized_.data();
    }
    network_->evaluate(exec_, rows, from, value);
  };
  value_of(observation(config_.num_steps), n, last_value_.data());
  gather_truncated(exec_, rollout_);
  value_of(bootstrap_observation_.data(), rollout_.bootstrap_slots * n, bootstrap_value_.data());
  if (reward_normalizer_) reward_normalizer_->update(exec_, rollout_.reward, rollout_.terminated, rollout_.truncated);
  gae(exec_, rollout_, config_.gamma, config_.gae_lambda, reward_normalizer_ ? reward_normalizer_->scale() : nullptr,
      config_.clip_reward);
  variance_terms(exec_, n * config_.num_steps, rollout_.value, rollout_.value_target, variance_scratch_.data(),
                 variance_.data());
}

void PpoTrainer::update() {
  for (std::int64_t epoch = 0; epoch < config_.update_epochs; ++epoch) {
    permutation_->fill(exec_, control_.data(), config_.update_epochs, epoch);
    if (advantage_sums_) advantage_sums_->fill(exec_, samples_.advantage, permutation_->indices());
    for (std::int64_t m = 0; m < config_.num_minibatches; ++m) {
      const std::int32_t* index = permutation_->indices() + m * minibatch_rows();
      if (advantage_sums_)
        ppo_minibatch(samples_, index, advantage_sums_->of(m));
      else
        minibatch(samples_, index);
    }
  }
}

void PpoTrainer::loss(const Exec& exec, const LossIo<float>& io) { ppo_loss(exec, update_, head_->view(), io); }

void PpoTrainer::finish_iteration() {
  if (normalizer_) normalizer_->update(exec_, config_.num_envs * config_.num_steps, observation(0));
  batch_->collect(exec_, episodes_.data(), reward_terms_.data());
  MetricsRing::Source source;
  source.control = control_.data();
  source.episodes = episodes_.data();
  source.reward_terms = reward_terms_.data();
  source.variance = variance_.data();
  source.samples = static_cast<double>(config_.num_envs * config_.num_steps);
  source.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  source.dim = static_cast<int>(policy_.action.dim());
  ring_.publish(exec_, source);
}

std::vector<Trainer::StateTensor> PpoTrainer::state() {
  std::vector<StateTensor> list = Trainer::state();
  if (reward_normalizer_) {
    list.push_back({"reward_normalizer.state", DType::f64, {3}, reward_normalizer_->state()});
    list.push_back({"reward_normalizer.running", DType::f32, {config_.num_envs}, reward_normalizer_->running()});
  }
  const auto bytes = static_cast<std::int64_t>(batch_->raw_state_bytes());
  list.push_back({"env.state", DType::u8, {bytes}, batch_->raw_state()});
  const std::int64_t t = config_.num_steps;
  list.push_back({"env.observation", DType::f32, {config_.num_envs, policy_.obs_dim}, observation(t)});
  if (policy_.has_action_mask)
    list.push_back({"env.action_mask", DType::u8, {config_.num_envs, policy_.head_dim()}, action_mask(t)});
  return list;
}

void PpoTrainer::loaded() {
  if (reward_normalizer_) reward_normalizer_->refresh(exec_);
}

}  // namespace hotloop
