#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/graph.h"
#include "train/bc.h"
#include "train/fused/chain_network.h"
#include "train/fused/cpu_network.h"
#include "train/fused/layered_network.h"
#include "train/fused/trainer.h"
#include "train/net_ops.h"
#include "train/ppo.h"
#include "train/ppo_limits.h"

namespace hotloop {
namespace {

// Iterations run eagerly before capture: they warm up LibTorch's handles and workspaces, and are part of the run.
constexpr std::int64_t kWarmUp = 2;

// Recorded without LibTorch.
struct OwnGraph final : Captured {
  explicit OwnGraph(const Exec& e) : exec(e) {}
  void replay() override { graph.replay(exec); }
  Exec exec;
  Graph graph;
};

LrSchedule parse_schedule(const std::string& name) {
  if (name == "linear") return LrSchedule::linear;
  if (name == "cosine") return LrSchedule::cosine;
  if (name == "adaptive") return LrSchedule::adaptive;
  return LrSchedule::constant;
}

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

std::unique_ptr<Trainer> make_trainer(const TrainConfig& config, const EnvEntry& env, Device device) {
  if (config.algo == "bc") return std::make_unique<BcTrainer>(config, env, device);
  const RoadChoice choice = choose_road(config, device);
  if (device.is_cuda() && choice.road == Road::fused && !choice.layered)
    return std::make_unique<FusedPpoTrainer>(config, env, device);
  return std::make_unique<PpoTrainer>(config, env, device);
}

std::unique_ptr<Trainer> make_population_trainer(const std::vector<TrainConfig>& members, const EnvEntry& env,
                                                 Device device) {
  if (!device.is_cuda()) throw Error("a population in the same kernels: needs a CUDA device, this run is on the CPU");
  const std::string reason = why_no_population(members.front(), device);
  if (!reason.empty()) throw Error("--num-seeds: " + reason);
  return std::make_unique<FusedPpoTrainer>(members.front(), env, device, members);
}

Trainer::Trainer(const TrainConfig& config, const EnvEntry& env, Device device, std::int64_t depth,
                 std::int64_t members)
    : config_(config),
      env_(env),
      policy_(make_policy_spec(config, spec_with_options(env, config.env))),
      update_(make_update_spec(config)),
      road_(choose_road(config, device).road),
      pool_(static_cast<int>(config.num_threads)),
      stream_(device),
      exec_{device, stream_.get(), &pool_},
      ring_(device, depth, members) {
  if (config_.capture == "on" && !device.is_cuda())
    throw Error("capture on: needs a CUDA device, this run is on the CPU");
}

void Trainer::drain() noexcept {
  try {
    synchronize(exec_);
  } catch (...) {
  }
}

void Trainer::allocate_parameters(std::int64_t shards) {
  const Device device = exec_.device;
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  parameters_ = Buffer<float>(device, size(policy_.num_parameters));
  gradients_ = Buffer<float>(device, size(policy_.num_parameters * shards));
  adam_ = std::make_unique<Adam<float>>(device, policy_.num_parameters);
  control_ = Buffer<Control>(device, 1);
  const std::vector<float> initial = initial_parameters(policy_, static_cast<std::uint64_t>(config_.seed));
  copy_async(exec_, parameters_.data(), device, initial.data(), {}, parameters_.bytes());
  synchronize(exec_);
}

std::unique_ptr<Batch> Trainer::make_worlds(std::int64_t seed) const {
  BatchConfig batch;
  batch.num_envs = config_.num_envs;
  batch.seed = static_cast<std::uint64_t>(seed);
  batch.device = exec_.device;
  batch.max_episode_steps = static_cast<int>(config_.max_episode_steps);
  batch.random_episode_start = config_.random_episode_start;
  batch.options = config_.env;
  return env_.make(batch);
}

std::string Trainer::worlds_text() const {
  return fmt::format("{} worlds x {} steps", config_.num_envs, config_.num_steps);
}

std::unique_ptr<Network<float>> Trainer::make_network(std::int64_t max_rows) const {
  NetworkConfig network;
  network.policy = policy_;
  network.device = exec_.device;
  network.precision = parse_precision(config_.precision);
  network.max_rows = max_rows;
  network.minibatch_rows = minibatch_rows();
  network.num_shards = num_shards(config_, exec_.device);
  if (road_ == Road::fused && exec_.device.is_cuda()) {
    const Number16 number = config_.precision == "fp16" ? Number16::fp16 : Number16::bf16;
    return chain_takes(policy_, exec_.device) ? make_chain_network(network, number, parameters_.data())
                                              : make_layered_network(network, number, parameters_.data());
  }
  if (road_ == Road::fused) return make_cpu_network(network, parameters_.data());
  load_generic().configure(network.device, network.precision);
  return load_generic().make_network(network, parameters_.data());
}

void Trainer::allocate_network(std::int64_t max_rows, bool has_action_mask) {
  const Device device = exec_.device;
  const std::int64_t rows = minibatch_rows(), shard_count = num_shards(config_, device);
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  allocate_parameters(shard_count);
  head_ = std::make_unique<HeadArrays>(policy_, device);
  minibatch_ = std::make_unique<Minibatch<float>>(device, rows, policy_.obs_dim, head_->view(), has_action_mask);
  if (policy_.normalize_observation) {
    normalizer_ = std::make_unique<ObservationNormalizer>(device, policy_.obs_dim, policy_.clip_observation);
    normalizer_->reserve(config_.num_envs * config_.num_steps);
  }
  network_ = make_network(max_rows);
  const std::int64_t parts = network_->parts(), part_rows = network_->part_rows();
  loss_terms_ = Buffer<LossTerms>(device, size(parts));
  loss_scratch_ = Buffer<LossTerms>(device, size(parts * loss_scratch(part_rows)));
  if (policy_.log_std >= 0) {
    log_std_rows_ = Buffer<float>(device, size(rows * policy_.action.dim()));
    log_std_scratch_ = Buffer<float>(device, size(parts * bias_scratch(part_rows, policy_.action.dim())));
  }
  network_->parameters_changed(exec_);
  synchronize(exec_);
}

void Trainer::enqueue(std::int64_t iterations) {
  if (iterations > most_at_once() || in_flight() + iterations > depth())
    throw std::logic_error("enqueue: more iterations than may be under way");
  prepare();
  queue(iterations);
  enqueued_ += iterations;
}

void Trainer::queue(std::int64_t) {
  const bool capture = exec_.device.is_cuda() && config_.capture != "off";
  if (!capture || eager_iterations_ < kWarmUp) {
    iteration();
    ++eager_iterations_;
  } else {
    if (graph_ == nullptr) graph_ = capture_iteration();
    graph_->replay();
  }
}

std::unique_ptr<Captured> Trainer::capture_iteration() {
  if (road_ == Road::generic) return load_generic().capture(exec_, [this] { iteration(); });
  auto graph = std::make_unique<OwnGraph>(exec_);
  graph->graph.begin(exec_);
  iteration();
  graph->graph.end();
  return graph;
}

std::optional<IterationMetrics> Trainer::poll() {
  if (in_flight() == 0) return std::nullopt;
  std::optional<IterationMetrics> metrics = ring_.poll(delivered_);
  if (metrics) ++delivered_;
  return metrics;
}

// Between two looks of a wait that began at `since`.
void Trainer::relax(std::chrono::steady_clock::time_point since) {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  // a kernel that failed never reports: after a second ask the driver, which names the failure
  if (std::chrono::steady_clock::now() - since > std::chrono::seconds(1)) synchronize(exec_);
}

IterationMetrics Trainer::wait() {
  if (in_flight() == 0) throw std::logic_error("wait: nothing is under way");
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    if (auto metrics = poll()) return *metrics;
    relax(start);
  }
}

std::vector<IterationMetrics> Trainer::poll_members() {
  std::vector<IterationMetrics> all;
  if (in_flight() == 0) return all;
  for (std::int64_t k = 0; k < members(); ++k) {
    const std::optional<IterationMetrics> metrics = ring_.poll(delivered_, k);
    if (!metrics) return {};
    all.push_back(*metrics);
  }
  ++delivered_;
  return all;
}

std::vector<IterationMetrics> Trainer::wait_members() {
  if (in_flight() == 0) throw std::logic_error("wait: nothing is under way");
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    std::vector<IterationMetrics> all = poll_members();
    if (!all.empty()) return all;
    relax(start);
  }
}

void Trainer::minibatch(const Samples<float>& from, const std::int32_t* index) {
  const std::int64_t rows = minibatch_rows();
  const std::int64_t dim = policy_.action.dim();
  minibatch_->gather(exec_, from, index, normalizer_ ? normalizer_->view() : ObservationNormalizer::View{});
  const Samples<float> batch = minibatch_->view();
  const auto part_loss = [&](const Exec& exec, const Part<float>& part) {
    LossIo<float> io;
    io.batch = batch;
    io.begin = part.begin;
    io.end = part.end;
    io.total = rows;
    io.advantage_terms = minibatch_->advantage_terms();
    io.head = part.head;
    io.value = part.value;
    io.d_head = part.d_head;
    io.d_value = part.d_value;
    if (policy_.log_std >= 0) {
      io.log_std = parameters_.data() + policy_.log_std;
      io.d_log_std = part.d_log_std;
      io.d_log_std_rows = log_std_rows_.data() + part.begin * dim;
      io.column_scratch = log_std_scratch_.data() + part.index * bias_scratch(network_->part_rows(), dim);
    }
    io.scratch = loss_scratch_.data() + part.index * loss_scratch(network_->part_rows());
    io.out = loss_terms_.data() + part.index;
    loss(exec, io);
  };
  network_->forward_backward(exec_, batch.observation, gradients_.data(), part_loss);
  adam_->step(exec_, update_, control_.data(), num_shards(config_, exec_.device), network_->parts(), loss_terms_.data(),
              rows, gradients_.data(), parameters_.data());
  network_->parameters_changed(exec_);
}

void Trainer::ppo_minibatch(const Samples<float>& from, const std::int32_t* index, const AdvantageTerms* advantages) {
  PpoPass pass;
  pass.update = update_, pass.head = head_->view(), pass.samples = from, pass.index = index;
  if (normalizer_) pass.normalizer = normalizer_->view();
  pass.advantage_terms = advantages;
  pass.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  pass.gradients = gradients_.data();
  network_->ppo_pass(exec_, pass);
  network_->ppo_step(
      exec_, {update_, control_.data(), gradients_.data(), parameters_.data(), adam_->moment1(), adam_->moment2()});
}

std::vector<Trainer::StateTensor> Trainer::state() {
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
  list.push_back({"control", DType::u8, {static_cast<std::int64_t>(sizeof(Control))}, control_.data()});
  return list;
}

Snapshot Trainer::save(std::int64_t member) {
  if (in_flight() != 0) throw std::logic_error("save: iterations are under way");
  Snapshot snapshot;
  const std::vector<StateTensor> list = state();
  snapshot.storage.reserve(list.size());
  for (const StateTensor& s : list) {
    std::int64_t numel = 1;
    for (const std::int64_t d : s.shape) numel *= d;
    std::vector<std::byte>& host = snapshot.storage.emplace_back(static_cast<std::size_t>(numel) * dtype_size(s.dtype));
    copy_async(exec_, host.data(), {}, of_member(s.data, member), exec_.device, host.size());
    snapshot.tensors.push_back({s.name, s.dtype, s.shape, host});
  }
  synchronize(exec_);
  return snapshot;
}

// After tensors of state() were overwritten from outside.
void Trainer::state_written() {
  if (normalizer_) normalizer_->refresh(exec_);
  loaded();
  if (network_) network_->parameters_changed(exec_);
  synchronize(exec_);
}

void Trainer::adopt(const Safetensors& file, const std::vector<std::string>& names) {
  for (const StateTensor& s : state()) {
    if (std::find(names.begin(), names.end(), s.name) == names.end()) continue;
    const NamedTensor& t = file.get(s.name, s.dtype, s.shape);
    for (std::int64_t k = 0; k < members(); ++k)
      copy_async(exec_, of_member(s.data, k), exec_.device, t.bytes.data(), {}, t.bytes.size());
  }
  state_written();
}

void Trainer::load(const Safetensors& file, std::int64_t member) {
  const std::vector<StateTensor> list = state();
  for (const StateTensor& s : list) file.get(s.name, s.dtype, s.shape);
  Control control;
  std::memcpy(&control, file.get("control").bytes.data(), sizeof control);
  check_control(file.name(), control, config_);
  for (const StateTensor& s : list) {
    const NamedTensor& t = file.get(s.name);
    copy_async(exec_, of_member(s.data, member), exec_.device, t.bytes.data(), {}, t.bytes.size());
  }
  state_written();
  if (member == 0) ring_.clear();
  enqueued_ = delivered_ = control.iteration;
}

}  // namespace hotloop
