#include "train/fused/trainer.h"

#include <algorithm>
#include <iterator>

#include "sim/core/error.h"
#include "sim/core/graph.h"
#include "train/fused/unpack.h"
#include "train/fused/work.h"
#include "train/ppo.h"
#include "train/ppo_limits.h"

namespace hotloop {
namespace {

constexpr int kNormSets = 4, kLossStride = 8;

class CapturedGraph final : public Captured {
 public:
  CapturedGraph(const Exec& exec, const std::function<void()>& work) : exec_(exec) {
    graph_.begin(exec);
    work();
    graph_.end();
  }
  void replay() override { graph_.replay(exec_); }

 private:
  Exec exec_;
  Graph graph_;
};

}  // namespace

FusedPpoTrainer::FusedPpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device)
    : Trainer(config, env, device), shape_(fused_shape(config, policy_, fused_limits(device))) {
  kernel_ = SpecialKernel::get(fused_source(config, env, policy_, shape_), device);
  try {
    allocate();
  } catch (const OutOfMemory& e) {
    refuse_size(config_, policy_, device, e.what(), static_cast<double>(cuda_device_info(device.index).total_bytes));
  }
  batch_->reset(exec_, observation_.data(), nullptr);
  synchronize(exec_);
}

FusedPpoTrainer::~FusedPpoTrainer() { drain(); }

std::string FusedPpoTrainer::source() const { return worlds_text(); }

void FusedPpoTrainer::allocate() {
  const Device device = exec_.device;
  const std::int64_t n = config_.num_envs, t = config_.num_steps;
  const auto floats = [&](std::int64_t count) { return Buffer<float>(device, static_cast<std::size_t>(count)); };
  allocate_parameters(1);
  batch_ = make_worlds();
  episodes_ = Buffer<EpisodeStats>(device, 1);
  reward_terms_ = Buffer<RewardTermSums>(device, 1);
  const std::int64_t slots = bootstrap_slots(t, batch_->max_episode_steps());
  observation_ = floats(n * policy_.obs_dim);
  record_ = floats(t * n * shape_.record);
  reward_ = floats(t * n);
  value_ = floats((t + 1 + slots) * n);
  final_observation_ = floats(slots * n * policy_.obs_dim);
  const auto blocks = static_cast<std::size_t>(shape_.blocks);
  partials_ = floats(static_cast<std::int64_t>(shape_.slice) * shape_.blocks * shape_.partials);
  loss_partials_ = floats(static_cast<std::int64_t>(shape_.loss_rows) * kLossStride);
  ended_ = Buffer<std::uint8_t>(device, static_cast<std::size_t>(t * n));
  truncations_ = Buffer<std::int32_t>(device, static_cast<std::size_t>(n));
  advantages_ = Buffer<AdvantageTerms>(
      device, blocks * static_cast<std::size_t>(config_.update_epochs * config_.num_minibatches));
  returns_ = Buffer<Moments>(device, blocks);
  variance_ = Buffer<VarianceTerms>(device, blocks + 1);
  if (policy_.normalize_observation) {
    normalizer_ = std::make_unique<ObservationNormalizer>(device, policy_.obs_dim, policy_.clip_observation);
    normalizer_->reserve(n * t);
  }
  if (config_.normalize_reward) reward_normalizer_ = std::make_unique<RewardNormalizer>(device, n, t, config_.gamma);
  exchange_ = Buffer<unsigned long long>(device, kNormSets * kNormWords + 1);
  phases_ = Buffer<unsigned long long>(device, static_cast<std::size_t>(FusedPhase::count));
}

FusedArgs FusedPpoTrainer::arguments() const {
  FusedArgs a = {};
  a.update = update_;
  a.book = batch_->book_view();
  a.num_steps = static_cast<std::int32_t>(config_.num_steps);
  a.update_epochs = static_cast<std::int32_t>(config_.update_epochs);
  a.num_minibatches = static_cast<std::int32_t>(config_.num_minibatches);
  a.minibatch_rows = static_cast<std::int32_t>(minibatch_rows());
  a.bootstrap_slots = static_cast<std::int32_t>(bootstrap_slots(config_.num_steps, batch_->max_episode_steps()));
  a.words = batch_->state_words();
  a.observation = observation_.data();
  a.parameters = parameters_.data();
  a.moment1 = adam_->moment1();
  a.moment2 = adam_->moment2();
  a.control = control_.data();
  if (normalizer_) {
    const ObservationNormalizer::View view = normalizer_->view();
    a.observation_mean = view.mean;
    a.observation_scale = view.scale;
    a.clip_observation = view.clip;
  }
  if (reward_normalizer_) {
    a.return_state = reward_normalizer_->state();
    a.return_running = reward_normalizer_->running();
  }
  a.returns = returns_.data();
  a.record = record_.data();
  a.reward = reward_.data();
  a.ended = ended_.data();
  a.value = value_.data();
  a.final_observation = final_observation_.data();
  a.last_observation = arena_ ? arena_->data<float>("final_observation") : nullptr;
  a.truncations = truncations_.data();
  a.partials = partials_.data();
  a.loss_partials = loss_partials_.data();
  a.advantages = advantages_.data();
  a.variance = variance_.data();
  a.gradients = gradients_.data();
  a.norms = exchange_.data();
  a.barrier = reinterpret_cast<std::uint32_t*>(exchange_.data() + kNormSets * kNormWords);
  a.phases = phases_.data();
  return a;
}

void FusedPpoTrainer::show_rollout() {
  if (arena_) return;
  try {
    arena_ = std::make_unique<Arena>(exec_.device, rollout_leaves(policy_, config_.num_steps, config_.num_envs));
  } catch (const OutOfMemory& e) {
    throw Error(std::string("--log-trajectories: ") + e.what());
  }
  head_ = std::make_unique<HeadArrays>(policy_, exec_.device);
}

void FusedPpoTrainer::update_rollout() {
  FusedRollout from{};
  from.num_steps = config_.num_steps;
  from.num_envs = config_.num_envs;
  from.record_size = shape_.record;
  from.record = record_.data();
  from.reward = reward_.data();
  from.ended = ended_.data();
  from.observation = observation_.data();
  unpack_rollout(exec_, from, policy_, head_->view(), *arena_);
}

std::vector<PhaseShare> FusedPpoTrainer::phases() {
  constexpr const char* kNames[] = {"start",  "rollout", "values", "advantages",      "meet", "tiles", "meet gradients",
                                    "reduce", "norm",    "adam",   "meet parameters", "load"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(FusedPhase::count));
  std::vector<unsigned long long> clocks(phases_.size());
  copy_async(exec_, clocks.data(), {}, phases_.data(), exec_.device, phases_.bytes());
  fill_async(exec_, phases_.data(), 0, phases_.bytes());
  synchronize(exec_);
  double total = 0;
  for (const unsigned long long c : clocks) total += static_cast<double>(c);
  std::vector<PhaseShare> shares;
  const auto work = fused_work(config_, policy_, shape_);
  const CardLimits limits = card_limits(exec_.device, config_.precision);
  const auto part = [](double used, double limit) { return limit > 0 ? used / limit : 0.0; };
  for (std::size_t i = 0; i < clocks.size(); ++i)
    shares.push_back({kNames[i], total > 0 ? static_cast<double>(clocks[i]) / total : 0.0, work[i].flops, work[i].bytes,
                      std::max(part(work[i].flops, limits.flops), part(work[i].bytes, limits.bytes))});
  return shares;
}

void FusedPpoTrainer::iteration() {
  fill_async(exec_, exchange_.data(), 0, exchange_.bytes());
  kernel_->launch_grid(exec_, {shape_.blocks, shape_.threads, shape_.shared_bytes, shape_.blocks > 1}, arguments());
  if (normalizer_) normalizer_->update(exec_, config_.num_envs * config_.num_steps, record_.data(), shape_.record);
  batch_->collect(exec_, episodes_.data(), reward_terms_.data());
  MetricsRing::Source source;
  source.control = control_.data();
  source.episodes = episodes_.data();
  source.reward_terms = reward_terms_.data();
  source.variance = variance_.data() + shape_.blocks;
  source.samples = static_cast<double>(config_.num_envs * config_.num_steps);
  source.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  source.dim = static_cast<int>(policy_.action.dim());
  ring_.publish(exec_, source);
}

std::unique_ptr<Captured> FusedPpoTrainer::capture_iteration() {
  return std::make_unique<CapturedGraph>(exec_, [this] { iteration(); });
}

std::vector<Trainer::StateTensor> FusedPpoTrainer::state() {
  std::vector<StateTensor> list = Trainer::state();
  if (reward_normalizer_) {
    list.push_back({"reward_normalizer.state", DType::f64, {3}, reward_normalizer_->state()});
    list.push_back({"reward_normalizer.running", DType::f32, {config_.num_envs}, reward_normalizer_->running()});
  }
  list.push_back({"env.state", DType::u8, {static_cast<std::int64_t>(batch_->raw_state_bytes())}, batch_->raw_state()});
  list.push_back({"env.observation", DType::f32, {config_.num_envs, policy_.obs_dim}, observation_.data()});
  return list;
}

void FusedPpoTrainer::loaded() {
  if (reward_normalizer_) reward_normalizer_->refresh(exec_);
}

}  // namespace hotloop
