#include "train/replay_source.h"

#include <cstring>
#include <utility>

#include "data/dataset/episode.h"
#include "train/iteration_ops.h"
#include "train/shuffle.h"

namespace hotloop {
namespace {

// One more than may be under way: the copy out of the oldest is done when its place is needed again.
constexpr std::int64_t kStages = MetricsRing::kDepth + 1;

std::vector<LeafSpec> block_leaves(const EnvSpec& env, std::int64_t count) {
  std::vector<std::int64_t> action = {count};
  if (env.action.kind != ActionSpace::Kind::discrete) action.push_back(env.action.dim());
  return {{"observation", DType::f32, {count, env.obs_dim()}},
          {"action", env.action.is_box() ? DType::f32 : DType::i64, action}};
}

}  // namespace

ReplaySource::ReplaySource(StepData data, const EnvSpec& env, Device device, std::int64_t count, std::uint64_t seed,
                           std::size_t resident_bytes)
    : data_(std::move(data)),
      count_(count),
      obs_dim_(env.obs_dim()),
      dim_(env.action.dim()),
      observation_bytes_(static_cast<std::size_t>(obs_dim_) * sizeof(float)),
      action_bytes_(action_bytes(env.action)),
      seed_(seed),
      block_(device, block_leaves(env, count)) {
  const auto rows = static_cast<std::size_t>(data_.rows());
  resident_ = rows * (observation_bytes_ + action_bytes_) <= resident_bytes;
  if (!resident_) {
    const std::size_t stage = static_cast<std::size_t>(count) * (observation_bytes_ + action_bytes_);
    pinned_ = Memory(device, static_cast<std::size_t>(kStages) * stage,
                     device.is_cuda() ? Memory::Kind::pinned : Memory::Kind::plain);
    return;
  }
  observation_ = Buffer<float>(device, rows * static_cast<std::size_t>(obs_dim_));
  action_ = Memory(device, rows * action_bytes_);
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), nullptr};
  copy_async(exec, observation_.data(), device, data_.observation(), {}, observation_.bytes());
  copy_async(exec, action_.data(), device, data_.action(), {}, action_.bytes());
  synchronize(exec);
}

ReplaySource::~ReplaySource() {
  if (ahead_.valid()) ahead_.wait();
}

std::byte* ReplaySource::staged(std::int64_t k) const {
  return pinned_.data() + static_cast<std::size_t>(k % kStages * count_) * (observation_bytes_ + action_bytes_);
}

void ReplaySource::gather(std::int64_t k) const {
  std::byte* observation = staged(k);
  std::byte* action = observation + static_cast<std::size_t>(count_) * observation_bytes_;
  for (std::int64_t j = 0; j < count_; ++j) {
    const auto row = static_cast<std::size_t>(drawn_row(seed_, k * count_ + j, data_.rows()));
    std::memcpy(observation, data_.observation() + row * static_cast<std::size_t>(obs_dim_), observation_bytes_);
    std::memcpy(action, data_.action() + row * action_bytes_, action_bytes_);
    observation += observation_bytes_;
    action += action_bytes_;
  }
}

void ReplaySource::prepare(const Exec& exec, std::int64_t k) {
  if (resident_) return;
  if (ahead_.valid()) ahead_.get();
  if (gathered_ != k) gather(k);  // the first block, or one after a resume
  const std::byte* from = staged(k);
  const auto count = static_cast<std::size_t>(count_);
  copy_async(exec, block_.data<float>("observation"), exec.device, from, {}, count * observation_bytes_);
  copy_async(exec, block_.bytes(block_.leaf("action")), exec.device, from + count * observation_bytes_, {},
             count * action_bytes_);
  gathered_ = k + 1;
  ahead_ = std::async(std::launch::async, [this, k] { gather(k + 1); });
}

void ReplaySource::draw(const Exec& exec, const HeadView& head, const Control* control) {
  if (!resident_) return;
  draw_steps(exec, {observation_.data(), action_.data(), data_.rows()}, seed_, control, count_, obs_dim_, head,
             block_.data<float>("observation"), block_.bytes(block_.leaf("action")));
}

}  // namespace hotloop
