#include "train/fused/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/core/error.h"
#include "train/fused/unpack.h"
#include "train/fused/work.h"
#include "train/ppo.h"
#include "train/ppo_limits.h"

namespace hotloop {
namespace {

constexpr int kNormSets = 4, kLossStride = 8;
constexpr std::int64_t kDepth = 32;  // iterations that may be under way: two launches of half as many
// Steps of all members in one launch: some tenths of a second at most, so that a stop is heard.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 24;

}  // namespace

FusedPpoTrainer::FusedPpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device,
                                 const std::vector<TrainConfig>& members)
    : Trainer(config, env, device, kDepth, std::max<std::int64_t>(1, static_cast<std::int64_t>(members.size()))),
      members_(std::max<std::int64_t>(1, static_cast<std::int64_t>(members.size()))),
      shape_(fused_shape(config, policy_, fused_limits(device))) {
  kernel_ = SpecialKernel::get(fused_source(config, env, policy_, shape_, members_ > 1), device);
  try {
    if (members_ > 1) {
      MemorySlots measured(device);
      measured.fill([this] { allocate(); });
      slots_.emplace(device, members_, measured.stride());
      slots_->fill([this] { allocate(); });
    } else {
      allocate();
    }
  } catch (const OutOfMemory& e) {
    if (members_ > 1)
      throw OutOfMemory(fmt::format("--num-seeds {}: does not fit on {}: {}", members_, device.str(), e.what()));
    refuse_size(config_, policy_, env_.spec, device, e.what(),
                static_cast<double>(cuda_device_info(device.index).total_bytes));
  }
  const std::vector<TrainConfig> alone = {config};
  const std::vector<TrainConfig>& all = members.empty() ? alone : members;
  std::vector<std::vector<float>> parameters(all.size());
  pool_.run(static_cast<int>(all.size()), [&](int k) {
    const auto i = static_cast<std::size_t>(k);
    parameters[i] = initial_parameters(policy_, static_cast<std::uint64_t>(all[i].seed));
  });
  for (std::size_t k = 0; k < all.size(); ++k) begin(static_cast<std::int64_t>(k), all[k], parameters[k]);
}

// What a member starts from.
void FusedPpoTrainer::begin(std::int64_t member, const TrainConfig& config, const std::vector<float>& parameters) {
  const Device device = exec_.device;
  const std::unique_ptr<Batch> worlds = make_worlds(config.seed);
  worlds->reset(exec_, of_member(observation_.data(), member), nullptr);
  copy_async(exec_, of_member(batch_->raw_state(), member), device, worlds->raw_state(), device,
             worlds->raw_state_bytes());
  const FusedMember own{make_update_spec(config), static_cast<std::uint64_t>(config.seed)};
  copy_async(exec_, of_member(member_.data(), member), device, &own, {}, sizeof own);
  copy_async(exec_, of_member(parameters_.data(), member), device, parameters.data(), {}, parameters_.bytes());
  synchronize(exec_);
}

FusedPpoTrainer::~FusedPpoTrainer() { drain(); }

std::string FusedPpoTrainer::source() const { return worlds_text(); }

void FusedPpoTrainer::allocate() {
  const Device device = exec_.device;
  const std::int64_t n = config_.num_envs, t = config_.num_steps;
  const auto obs_dim = static_cast<std::size_t>(policy_.obs_dim);
  const auto floats = [&](std::int64_t count) { return Buffer<float>(device, static_cast<std::size_t>(count)); };
  allocate_parameters(1);
  member_ = Buffer<FusedMember>(device, 1);
  batch_ = make_worlds(config_.seed);
  const std::int64_t slots = bootstrap_slots(t, batch_->max_episode_steps());
  observation_ = floats(n * policy_.obs_dim);
  record_ = floats(t * n * shape_.record);
  reward_ = floats(t * n);
  value_ = floats((t + 1 + slots) * n);
  final_observation_ = floats(slots * n * policy_.obs_dim);
  const auto blocks = static_cast<std::size_t>(shape_.blocks);
  episodes_ = Buffer<EpisodeStats>(device, blocks);
  partials_ = floats(static_cast<std::int64_t>(shape_.slice) * shape_.blocks * shape_.partials);
  loss_partials_ = floats(static_cast<std::int64_t>(shape_.loss_rows) * kLossStride);
  own_ = floats(shape_.own);
  ended_ = Buffer<std::uint8_t>(device, static_cast<std::size_t>(t * n));
  truncations_ = Buffer<std::int32_t>(device, static_cast<std::size_t>(n));
  advantages_ = Buffer<AdvantageTerms>(
      device, blocks * static_cast<std::size_t>(config_.update_epochs * config_.num_minibatches));
  returns_ = Buffer<Moments>(device, blocks);
  observations_ = Buffer<Moments>(device, policy_.normalize_observation ? blocks * obs_dim : 0);
  variance_ = Buffer<VarianceTerms>(device, blocks);
  if (policy_.normalize_observation)
    normalizer_ = std::make_unique<ObservationNormalizer>(device, policy_.obs_dim, policy_.clip_observation);
  if (config_.normalize_reward) reward_normalizer_ = std::make_unique<RewardNormalizer>(device, n, t, config_.gamma);
  norms_ = Buffer<unsigned long long>(device, kNormSets * kNormWords);
  tally_ = Buffer<FusedTally>(device, 1);
  phases_ = Buffer<unsigned long long>(device, static_cast<std::size_t>(FusedPhase::count));
}

FusedArgs FusedPpoTrainer::arguments() const {
  FusedArgs a = {};
  a.member = member_.data();
  a.member_bytes = member_bytes();
  a.num_members = static_cast<std::int32_t>(members_);
  a.ring_depth = static_cast<std::int32_t>(ring_.depth());
  a.metrics = ring_.slots();
  a.book = batch_->book_view();
  a.num_steps = static_cast<std::int32_t>(config_.num_steps);
  a.bootstrap_slots = static_cast<std::int32_t>(bootstrap_slots(config_.num_steps, batch_->max_episode_steps()));
  a.words = batch_->state_words();
  a.observation = observation_.data();
  a.parameters = parameters_.data();
  a.moment1 = adam_->moment1();
  a.moment2 = adam_->moment2();
  a.control = control_.data();
  a.observation_state = normalizer_ ? normalizer_->state() : nullptr;
  a.clip_observation = static_cast<float>(policy_.clip_observation);
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
  a.observations = observations_.data();
  a.variance = variance_.data();
  a.episodes = episodes_.data();
  a.own = own_.data();
  a.gradients = gradients_.data();
  a.norms = norms_.data();
  a.tally = tally_.data();
  a.phases = phases_.data();
  return a;
}

void FusedPpoTrainer::show_rollout() {
  if (arena_) return;
  try {
    arena_ =
        std::make_unique<Arena>(exec_.device, rollout_leaves(policy_, env_.spec, config_.num_steps, config_.num_envs));
  } catch (const OutOfMemory& e) {
    throw Error(std::string("the rollout as it is logged and viewed: ") + e.what());
  }
  head_ = std::make_unique<HeadArrays>(policy_, exec_.device);
  graphs_.clear();  // their launches know nothing of the arena
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
                                    "reduce", "norm",    "adam",   "meet parameters", "load", "finish"};
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

// A rollout that is to be seen lasts until the next one.
std::int64_t FusedPpoTrainer::most_at_once() const {
  if (config_.capture == "off" || arena_) return 1;
  const std::int64_t steps = members_ * config_.num_envs * config_.num_steps;
  return std::clamp<std::int64_t>(kMostSteps / steps, 1, kDepth / 2);
}

// A launch costs the driver about a millisecond of a processor where blocks wait for each other, its replay as part of
// a graph microseconds.
void FusedPpoTrainer::queue(std::int64_t iterations) {
  if (config_.capture == "off") return launch(iterations);
  Graph& graph = graphs_[iterations];
  if (graph.empty()) {
    graph.begin(exec_);
    launch(iterations);
    graph.end();
  }
  graph.replay(exec_);
}

void FusedPpoTrainer::launch(std::int64_t iterations) {
  FusedArgs args = arguments();
  args.iterations = static_cast<std::int32_t>(iterations);
  // blocks that wait for each other must all be there
  const std::int64_t at_once =
      shape_.blocks == 1 ? members_ : std::max(1, fused_limits(exec_.device).multiprocessors / shape_.blocks);
  for (std::int64_t first = 0; first < members_; first += at_once) {
    args.first_member = static_cast<std::int32_t>(first);
    const auto blocks = static_cast<int>(std::min(at_once, members_ - first)) * shape_.blocks;
    kernel_->launch_grid(exec_, {blocks, shape_.threads, shape_.shared_bytes, shape_.blocks > 1}, args);
  }
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
