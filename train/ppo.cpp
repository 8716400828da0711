#include "train/ppo.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/host_memory.h"
#include "sim/core/value.h"
#include "train/net_ops.h"
#include "train/ppo_limits.h"

namespace hotloop {
namespace {

// Iterations run eagerly before capture: they warm up LibTorch's handles and workspaces, and are part of the run.
constexpr std::int64_t kWarmUp = 2;

LrSchedule parse_schedule(const std::string& name) {
  if (name == "linear") return LrSchedule::linear;
  if (name == "cosine") return LrSchedule::cosine;
  if (name == "adaptive") return LrSchedule::adaptive;
  return LrSchedule::constant;
}

std::int64_t minibatch_rows(const TrainConfig& c) { return c.num_envs * c.num_steps / c.num_minibatches; }

}  // namespace

std::int64_t num_iterations(const TrainConfig& config) {
  const std::int64_t steps = config.num_envs * config.num_steps;
  return (config.total_timesteps + steps - 1) / steps;
}

Precision parse_precision(const std::string& name) {
  return name == "tf32" ? Precision::tf32 : (name == "bf16" ? Precision::bf16 : Precision::fp32);
}

UpdateSpec make_update_spec(const TrainConfig& c) {
  UpdateSpec u;
  u.learning_rate = c.learning_rate;
  u.min_learning_rate = c.min_learning_rate;
  u.max_learning_rate = c.max_learning_rate;
  u.desired_kl = c.desired_kl;
  u.lr_schedule = parse_schedule(c.lr_schedule);
  u.adam_eps = c.adam_eps;
  u.adam_beta1 = c.adam_beta1;
  u.adam_beta2 = c.adam_beta2;
  u.gamma = c.gamma;
  u.gae_lambda = c.gae_lambda;
  u.norm_adv = c.norm_adv;
  u.clip_vloss = c.clip_vloss;
  u.normalize_reward = c.normalize_reward;
  u.clip_coef = c.clip_coef;
  u.ent_coef = c.ent_coef;
  u.vf_coef = c.vf_coef;
  u.max_grad_norm = c.max_grad_norm;
  u.target_kl = c.target_kl;
  u.clip_reward = c.clip_reward;
  u.num_iterations = num_iterations(c);
  u.minibatches_per_epoch = static_cast<int>(c.num_minibatches);
  return u;
}

std::vector<LeafSpec> rollout_leaves(const PolicySpec& policy, std::int64_t num_steps, std::int64_t num_envs) {
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
  return leaves;
}

PpoTrainer::PpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device)
    : config_(config),
      env_(env),
      policy_(make_policy_spec(config, spec_with_options(env, config.env))),
      update_(make_update_spec(config)),
      pool_(static_cast<int>(config.num_threads)),
      stream_(device),
      exec_{device, stream_.get(), &pool_},
      ring_(device) {
  if (config_.capture == "on" && !device.is_cuda())
    throw Error("capture on: needs a CUDA device, this run is on the CPU");
  // what this process holds when it fails comes back when it leaves: of a card, count on the whole
  const double usable = device.is_cuda() ? static_cast<double>(cuda_device_info(device.index).total_bytes)
                                         : static_cast<double>(available_memory());
  try {
    if (!device.is_cuda()) check_memory(config_, policy_);
    allocate();
  } catch (const OutOfMemory& e) {
    refuse_size(config_, policy_, device, e.what(), usable);
  } catch (const std::bad_alloc&) {
    refuse_size(config_, policy_, device, device.str() + ": out of memory", usable);
  }
  begin_run();
}

PpoTrainer::~PpoTrainer() {
  try {
    synchronize(exec_);  // buffers must outlive what is queued on them
  } catch (...) {
  }
}

void PpoTrainer::allocate() {
  const Device device = exec_.device;
  const std::int64_t n = config_.num_envs, t = config_.num_steps, rows = minibatch_rows(config_);
  const std::int64_t shard_count = num_shards(config_, device);
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  arena_ = std::make_unique<Arena>(device, rollout_leaves(policy_, t, n));
  BatchConfig batch;
  batch.num_envs = n;
  batch.seed = static_cast<std::uint64_t>(config_.seed);
  batch.device = device;
  batch.max_episode_steps = static_cast<int>(config_.max_episode_steps);
  batch.random_episode_start = config_.random_episode_start;
  batch.options = config_.env;
  batch_ = env_.make(batch);
  head_ = std::make_unique<HeadArrays>(policy_, device);
  parameters_ = Buffer<float>(device, size(policy_.num_parameters));
  gradients_ = Buffer<float>(device, size(policy_.num_parameters * shard_count));
  adam_ = std::make_unique<Adam<float>>(device, policy_.num_parameters);
  permutation_ = std::make_unique<Permutation>(device, n * t, batch.seed);
  minibatch_ =
      std::make_unique<Minibatch<float>>(device, rows, policy_.obs_dim, head_->view(), policy_.has_action_mask);
  if (policy_.normalize_observation) {
    normalizer_ = std::make_unique<ObservationNormalizer>(device, policy_.obs_dim, policy_.clip_observation);
    normalizer_->reserve(n * t);
  }
  if (config_.normalize_reward) reward_normalizer_ = std::make_unique<RewardNormalizer>(device, n, t, config_.gamma);

  const std::int64_t slots = bootstrap_slots(t, batch_->max_episode_steps());
  control_ = Buffer<Control>(device, 1);
  episodes_ = Buffer<EpisodeStats>(device, 1);
  reward_terms_ = Buffer<RewardTermSums>(device, 1);
  variance_ = Buffer<VarianceTerms>(device, 1);
  variance_scratch_ = Buffer<VarianceTerms>(device, size(variance_scratch(n * t)));
  loss_terms_ = Buffer<LossTerms>(device, size(shard_count));
  loss_scratch_ = Buffer<LossTerms>(device, size(shard_count * loss_scratch(rows / shard_count)));
  head_out_ = Buffer<float>(device, size(n * policy_.head_dim()));
  normalized_ = Buffer<float>(device, size(std::max(n, slots * n) * policy_.obs_dim));
  last_value_ = Buffer<float>(device, size(n));
  bootstrap_observation_ = Buffer<float>(device, size(slots * n * policy_.obs_dim));
  bootstrap_value_ = Buffer<float>(device, size(slots * n));
  if (policy_.log_std >= 0) {
    log_std_rows_ = Buffer<float>(device, size(rows * policy_.action.dim()));
    log_std_scratch_ =
        Buffer<float>(device, size(shard_count * bias_scratch(rows / shard_count, policy_.action.dim())));
  }
  NetworkConfig network;
  network.policy = policy_;
  network.device = device;
  network.precision = parse_precision(config_.precision);
  network.max_rows = slots * n;
  network.minibatch_rows = rows;
  network.num_shards = shard_count;
  load_generic().configure(device, network.precision);
  network_ = load_generic().make_network(network, parameters_.data());
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
  const std::vector<float> initial = initial_parameters(policy_, static_cast<std::uint64_t>(config_.seed));
  copy_async(exec_, parameters_.data(), exec_.device, initial.data(), {}, parameters_.bytes());
  network_->parameters_changed(exec_);
  batch_->reset(exec_, observation(config_.num_steps), action_mask(config_.num_steps));
  synchronize(exec_);
}

void PpoTrainer::enqueue() {
  if (in_flight() >= MetricsRing::kDepth) throw std::logic_error("enqueue: the metrics ring is full");
  const bool capture = exec_.device.is_cuda() && config_.capture != "off";
  if (!capture || eager_iterations_ < kWarmUp) {
    iteration();
    ++eager_iterations_;
  } else {
    if (graph_ == nullptr) graph_ = load_generic().capture(exec_, [this] { iteration(); });
    graph_->replay();
  }
  ++enqueued_;
}

std::optional<IterationMetrics> PpoTrainer::poll() {
  if (in_flight() == 0) return std::nullopt;
  std::optional<IterationMetrics> metrics = ring_.poll(delivered_);
  if (metrics) ++delivered_;
  return metrics;
}

IterationMetrics PpoTrainer::wait() {
  if (in_flight() == 0) throw std::logic_error("wait: nothing is under way");
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    if (auto metrics = poll()) return *metrics;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    // a kernel that failed never reports: after a second ask the driver, which names the failure
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(1)) synchronize(exec_);
  }
}

void PpoTrainer::iteration() {
  start_iteration(exec_, update_, control_.data());
  rollout();
  advantages();
  update();
  finish_iteration();
}

void PpoTrainer::rollout() {
  // the last row of the previous rollout is the first of this one
  const std::int64_t t = config_.num_steps;
  const auto bytes = static_cast<std::size_t>(config_.num_envs * policy_.obs_dim) * sizeof(float);
  copy_async(exec_, observation(0), exec_.device, observation(t), exec_.device, bytes);
  if (policy_.has_action_mask)
    copy_async(exec_, action_mask(0), exec_.device, action_mask(t), exec_.device,
               static_cast<std::size_t>(config_.num_envs * policy_.head_dim()));
  for (std::int64_t step = 0; step < t; ++step) rollout_step(step);
}

void PpoTrainer::rollout_step(std::int64_t t) {
  const std::int64_t n = config_.num_envs, row = t * n, dim = policy_.action.dim();
  const Arena& a = *arena_;
  const float* input = observation(t);
  if (normalizer_) {
    normalizer_->apply(exec_, n, input, normalized_.data());
    input = normalized_.data();
  }
  network_->act(exec_, n, input, head_out_.data(), a.data<float>("state_value") + row);
  const bool box = policy_.action.is_box();
  SampleIo sample;
  sample.head = head_out_.data();
  sample.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  sample.mask = action_mask(t);
  if (box) {
    sample.action = a.data<float>("action") + row * dim;
    sample.sample = a.data<float>("policy_sample") + row * dim;
  } else {
    sample.action = a.data<std::int64_t>("action") + row * dim;
  }
  sample.log_prob = a.data<float>("sample_log_prob") + row;
  DrawKey key;
  key.seed = static_cast<std::uint64_t>(config_.seed);
  key.control = control_.data();
  key.num_steps = config_.num_steps;
  key.t = t;
  sample_actions(exec_, n, head_->view(), key, false, sample);
  StepIo io;
  io.action = sample.action;
  io.observation = observation(t + 1);
  io.reward = a.data<float>("next/reward") + row;
  io.terminated = a.data<std::uint8_t>("next/terminated") + row;
  io.truncated = a.data<std::uint8_t>("next/truncated") + row;
  io.final_observation = a.data<float>("final_observation") + row * policy_.obs_dim;
  io.action_mask = action_mask(t + 1);
  batch_->step(exec_, io);
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
    for (std::int64_t m = 0; m < config_.num_minibatches; ++m)
      minibatch(permutation_->indices() + m * minibatch_rows(config_));
  }
}

void PpoTrainer::minibatch(const std::int32_t* index) {
  const std::int64_t rows = minibatch_rows(config_), shard_count = num_shards(config_, exec_.device);
  const std::int64_t dim = policy_.action.dim();
  minibatch_->gather(exec_, samples_, index, normalizer_ ? normalizer_->view() : ObservationNormalizer::View{});
  const Samples<float> batch = minibatch_->view();
  const auto loss = [&](const Exec& exec, const Shard<float>& shard) {
    LossIo<float> io;
    io.batch = batch;
    io.begin = shard.begin;
    io.end = shard.end;
    io.total = rows;
    io.advantage_terms = minibatch_->advantage_terms();
    io.head = shard.head;
    io.value = shard.value;
    io.d_head = shard.d_head;
    io.d_value = shard.d_value;
    const std::int64_t shard_rows = rows / shard_count;
    if (policy_.log_std >= 0) {
      io.log_std = parameters_.data() + policy_.log_std;
      io.d_log_std = shard.gradients + policy_.log_std;
      io.d_log_std_rows = log_std_rows_.data() + shard.begin * dim;
      io.column_scratch = log_std_scratch_.data() + shard.index * bias_scratch(shard_rows, dim);
    }
    io.scratch = loss_scratch_.data() + shard.index * loss_scratch(shard_rows);
    io.out = loss_terms_.data() + shard.index;
    ppo_loss(exec, update_, head_->view(), io);
  };
  network_->forward_backward(exec_, batch.observation, gradients_.data(), loss);
  adam_->step(exec_, update_, control_.data(), shard_count, loss_terms_.data(), rows, gradients_.data(),
              parameters_.data());
  network_->parameters_changed(exec_);
}

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

std::vector<PpoTrainer::StateTensor> PpoTrainer::state() {
  std::vector<StateTensor> list;
  for (const ParameterSpec& p : policy_.parameters)
    list.push_back({p.name, DType::f32, p.shape, parameters_.data() + p.offset});
  list.push_back({"optimizer.exp_avg", DType::f32, {adam_->size()}, adam_->moment1()});
  list.push_back({"optimizer.exp_avg_sq", DType::f32, {adam_->size()}, adam_->moment2()});
  if (normalizer_) {
    double* s = normalizer_->state();
    const std::int64_t d = policy_.obs_dim;
    list.push_back({"observation_normalizer.mean", DType::f64, {d}, s});
    list.push_back({"observation_normalizer.sum_squares", DType::f64, {d}, s + d});
    list.push_back({"observation_normalizer.count", DType::f64, {1}, s + 2 * d});
  }
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
  list.push_back({"control", DType::u8, {static_cast<std::int64_t>(sizeof(Control))}, control_.data()});
  return list;
}

Snapshot PpoTrainer::save() {
  if (in_flight() != 0) throw std::logic_error("save: iterations are under way");
  Snapshot snapshot;
  const std::vector<StateTensor> list = state();
  snapshot.storage.reserve(list.size());
  for (const StateTensor& s : list) {
    std::int64_t numel = 1;
    for (const std::int64_t d : s.shape) numel *= d;
    std::vector<std::byte>& host = snapshot.storage.emplace_back(static_cast<std::size_t>(numel) * dtype_size(s.dtype));
    copy_async(exec_, host.data(), {}, s.data, exec_.device, host.size());
    snapshot.tensors.push_back({s.name, s.dtype, s.shape, host});
  }
  synchronize(exec_);
  return snapshot;
}

void PpoTrainer::load(const Safetensors& file) {
  const std::vector<StateTensor> list = state();
  for (const StateTensor& s : list) file.get(s.name, s.dtype, s.shape);
  Control control;
  std::memcpy(&control, file.get("control").bytes.data(), sizeof control);
  check_control(file.name(), control, config_);
  for (const StateTensor& s : list) {
    const NamedTensor& t = file.get(s.name);
    copy_async(exec_, s.data, exec_.device, t.bytes.data(), {}, t.bytes.size());
  }
  if (normalizer_) normalizer_->refresh(exec_);
  if (reward_normalizer_) reward_normalizer_->refresh(exec_);
  network_->parameters_changed(exec_);
  synchronize(exec_);
  ring_.clear();
  enqueued_ = delivered_ = control.iteration;
}

}  // namespace hotloop
