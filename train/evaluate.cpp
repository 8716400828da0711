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
      net_(policy, exec.device, worlds_),
      buffers_(env.spec, worlds_, exec.device),
      ends_(exec.device, worlds_) {}

void Evaluator::play_round(std::int64_t round, EvaluationResult& result,
                           const std::function<void(std::int64_t)>& progress) {
  BatchConfig config;
  config.num_envs = std::min(worlds_, episodes_ - round * worlds_);
  config.seed = seed_ + static_cast<std::uint64_t>(round) * 0x9E3779B97F4A7C15u;  // other start states each round
  config.device = exec_.device;
  config.max_episode_steps = max_episode_steps_;
  config.evaluation = true;
  config.options = options_;
  const std::unique_ptr<Batch> batch = env_.make(config);
  float* const observation = buffers_.observation.data();
  std::uint8_t* const mask = buffers_.action_mask.data();
  batch->reset(exec_, observation, mask);
  DrawKey key;
  key.seed = config.seed;
  key.stream += kEvaluationStreams;
  ends_.clear(exec_);
  std::vector<EpisodeEnd> ends(static_cast<std::size_t>(config.num_envs));
  const auto step = [&] {
    if (log_) log_->before_step(observation);
    net_.act(exec_, config.num_envs, observation, mask, !stochastic_, key, buffers_.action.data());
    batch->step(exec_, buffers_.io());
    if (log_) log_->after_step(buffers_.io());
    ++key.t;
  };
  if (log_) log_->start(exec_, *batch, config.seed);
  for (int t = 0; t < max_episode_steps_; ++t) {
    step();
    ends_.record(exec_, *batch, buffers_.io());
    if ((t + 1) % kCheckEvery != 0 && t + 1 < max_episode_steps_) continue;
    copy_async(exec_, ends.data(), {}, ends_.data(), exec_.device, ends.size());
    synchronize(exec_);
    const std::int64_t playing = std::count(ends.begin(), ends.end(), EpisodeEnd::playing);
    if (progress) progress(round * worlds_ + config.num_envs - playing);
    if (playing == 0) break;
  }
  take(*batch, ends, result);
  while (log_ && !log_->is_whole()) step();
}

// The first episodes of a batch whose worlds have all ended one.
void Evaluator::take(const Batch& batch, const std::vector<EpisodeEnd>& ends, EvaluationResult& result) const {
  const std::size_t num_terms = result.reward_terms.size();
  std::vector<std::int32_t> lengths(ends.size());
  std::vector<float> returns(ends.size()), terms(ends.size() * num_terms);
  copy_async(exec_, lengths.data(), {}, batch.first_length(), exec_.device, lengths.size() * sizeof(std::int32_t));
  copy_async(exec_, returns.data(), {}, batch.first_return(), exec_.device, returns.size() * sizeof(float));
  copy_async(exec_, terms.data(), {}, batch.first_terms(), exec_.device, terms.size() * sizeof(float));
  synchronize(exec_);
  result.episodes += static_cast<std::int64_t>(ends.size());
  for (std::size_t w = 0; w < ends.size(); ++w) {
    result.non_finite += ends[w] == EpisodeEnd::non_finite;
    result.terminated += ends[w] == EpisodeEnd::terminated;
    result.truncated += ends[w] == EpisodeEnd::truncated;
    if (ends[w] == EpisodeEnd::non_finite) continue;  // what the batch has booked is the world's next episode
    result.lengths.push_back(lengths[w]);
    result.returns.push_back(returns[w]);
    for (std::size_t k = 0; k < num_terms; ++k) result.reward_terms[k] += terms[w * num_terms + k];
  }
}

EvaluationResult Evaluator::run(const std::function<void(std::int64_t)>& progress) {
  EvaluationResult result;
  result.returns.reserve(static_cast<std::size_t>(episodes_));
  result.lengths.reserve(static_cast<std::size_t>(episodes_));
  result.reward_terms.resize(env_.spec.reward_terms.size());
  for (std::int64_t round = 0; round * worlds_ < episodes_; ++round) play_round(round, result, progress);
  const auto n = static_cast<double>(result.returns.size());
  for (std::size_t i = 0; i < result.returns.size(); ++i) {
    result.return_mean += result.returns[i];
    result.length_mean += result.lengths[i];
  }
  result.return_mean /= n;
  result.length_mean /= n;
  for (double& term : result.reward_terms) term /= n;
  for (const float r : result.returns) result.return_std += (r - result.return_mean) * (r - result.return_mean);
  result.return_std = std::sqrt(result.return_std / n);
  return result;
}

}  // namespace hotloop
