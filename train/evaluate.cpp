#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

constexpr std::int64_t kMaxWorlds = 16384;  // more episodes are played in rounds
constexpr int kCheckEvery = 32;             // steps between looks whether every episode has ended

}  // namespace

Evaluator::Evaluator(const EnvEntry& env, const EnvOptions& options, const PolicySpec& policy, const Exec& exec,
                     std::int64_t episodes, std::uint64_t seed, int max_episode_steps, bool stochastic)
    : env_(env),
      options_(options),
      exec_(exec),
      episodes_(episodes),
      worlds_(std::min(episodes, kMaxWorlds)),
      seed_(seed),
      max_episode_steps_(max_episode_steps > 0 ? max_episode_steps : env.spec.max_episode_steps),
      stochastic_(stochastic),
      net_(policy, exec.device, worlds_) {
  const auto n = static_cast<std::size_t>(worlds_);
  const Device device = exec.device;
  observation_ = Buffer<float>(device, n * static_cast<std::size_t>(policy.obs_dim));
  reward_ = Buffer<float>(device, n);
  terminated_ = Buffer<std::uint8_t>(device, n);
  truncated_ = Buffer<std::uint8_t>(device, n);
  if (policy.has_action_mask) mask_ = Buffer<std::uint8_t>(device, n * static_cast<std::size_t>(policy.head_dim()));
  action_ = Memory(device, n * static_cast<std::size_t>(policy.action.dim()) * sizeof(std::int64_t));
}

void Evaluator::play_round(std::int64_t round, EvaluationResult& result) {
  BatchConfig config;
  config.num_envs = std::min(worlds_, episodes_ - round * worlds_);
  config.seed = seed_ + static_cast<std::uint64_t>(round) * 0x9E3779B97F4A7C15u;  // other start states each round
  config.device = exec_.device;
  config.max_episode_steps = max_episode_steps_;
  config.evaluation = true;
  config.options = options_;
  const std::unique_ptr<Batch> batch = env_.make(config);
  batch->reset(exec_, observation_.data(), mask_.data());
  DrawKey key;
  key.seed = config.seed;
  key.stream += kEvaluationStreams;
  StepIo io;
  io.action = action_.data();
  io.observation = observation_.data();
  io.reward = reward_.data();
  io.terminated = terminated_.data();
  io.truncated = truncated_.data();
  io.action_mask = mask_.data();
  std::vector<std::int32_t> length(static_cast<std::size_t>(config.num_envs));
  std::vector<float> returns(length.size());
  for (int t = 0; t < max_episode_steps_; ++t) {
    key.t = t;
    net_.act(exec_, config.num_envs, observation_.data(), mask_.data(), !stochastic_, key, action_.data());
    batch->step(exec_, io);
    if ((t + 1) % kCheckEvery != 0 && t + 1 < max_episode_steps_) continue;
    copy_async(exec_, length.data(), {}, batch->first_length(), exec_.device, length.size() * sizeof(std::int32_t));
    synchronize(exec_);
    if (std::none_of(length.begin(), length.end(), [](std::int32_t n) { return n == 0; })) break;
  }
  copy_async(exec_, returns.data(), {}, batch->first_return(), exec_.device, returns.size() * sizeof(float));
  synchronize(exec_);
  result.lengths.insert(result.lengths.end(), length.begin(), length.end());
  result.returns.insert(result.returns.end(), returns.begin(), returns.end());
}

EvaluationResult Evaluator::run() {
  EvaluationResult result;
  for (std::int64_t round = 0; round * worlds_ < episodes_; ++round) play_round(round, result);
  const auto n = static_cast<double>(result.returns.size());
  for (const float r : result.returns) result.return_mean += r / n;
  for (const float r : result.returns) result.return_std += (r - result.return_mean) * (r - result.return_mean) / n;
  for (const std::int32_t l : result.lengths) result.length_mean += l / n;
  result.return_std = std::sqrt(result.return_std);
  result.episodes = static_cast<std::int64_t>(result.returns.size());
  return result;
}

}  // namespace hotloop
