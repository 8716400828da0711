// Everything of an update that changes from iteration to iteration lives in one small struct in device memory:
// schedules, Adam's step, early stop, and the metrics being gathered. A captured graph reads and writes it; the host
// never does inside an iteration.
#pragma once
#include <cstdint>

#include "sim/core/episode_stats.h"
#include "sim/core/hd.h"
#include "sim/core/math.h"

namespace hotloop {

enum class LrSchedule : std::uint8_t { constant, linear, cosine, adaptive };

// Constant through a run; passed by value into kernels.
struct UpdateSpec {
  double learning_rate = 0, min_learning_rate = 0, max_learning_rate = 0, desired_kl = 0;
  LrSchedule lr_schedule = LrSchedule::constant;
  double adam_eps = 1e-5, adam_beta1 = 0.9, adam_beta2 = 0.999;
  double gamma = 0.99, gae_lambda = 0.95;
  bool norm_adv = true, clip_vloss = true, normalize_reward = false;
  double clip_coef = 0.2, ent_coef = 0, vf_coef = 0.5, max_grad_norm = 0.5, target_kl = 0;
  double clip_reward = 10;
  std::int64_t num_iterations = 1;
  int minibatches_per_epoch = 1;
};

// Sums over the samples of one minibatch (or of all shards of it).
struct LossTerms {
  double policy_loss = 0, value_loss = 0, entropy = 0, old_approx_kl = 0, approx_kl = 0, clipfrac = 0;
};
SIM_HD LossTerms operator+(const LossTerms& a, const LossTerms& b) {
  return {a.policy_loss + b.policy_loss,     a.value_loss + b.value_loss, a.entropy + b.entropy,
          a.old_approx_kl + b.old_approx_kl, a.approx_kl + b.approx_kl,   a.clipfrac + b.clipfrac};
}

// Sums for the explained variance 1 - Var(target - value) / Var(target).
struct VarianceTerms {
  double target = 0, target_squares = 0, error = 0, error_squares = 0;
};
SIM_HD VarianceTerms operator+(const VarianceTerms& a, const VarianceTerms& b) {
  return {a.target + b.target, a.target_squares + b.target_squares, a.error + b.error,
          a.error_squares + b.error_squares};
}

struct Control {
  std::int64_t iteration = 0;  // of the iteration under way, from 0
  std::int64_t adam_step = 0;
  double learning_rate = 0;
  std::int32_t stop = 0;  // target_kl was passed: the remaining minibatches of this iteration change nothing
  std::int32_t minibatch = 0;
  std::int64_t updates = 0, skipped_updates = 0;  // of this iteration; skipped: gradient not finite
  LossTerms loss;                                 // means, summed over the minibatches of this iteration
  double grad_norm_sum = 0;
};

// One iteration as the host sees it.
struct IterationMetrics {
  std::int64_t iteration = 0;  // 1 after the first
  std::int64_t updates = 0, skipped_updates = 0;
  double learning_rate = 0, grad_norm = 0, explained_variance = 0, std = 0;
  LossTerms loss;  // means over the minibatches
  EpisodeStats episodes;
  RewardTermSums reward_terms;  // of those episodes
};

// Where an iteration leaves them for the host.
struct MetricsSlot {
  IterationMetrics metrics;
  volatile std::int64_t sequence;  // iteration + 1 once `metrics` is whole; written last
};

// After the last minibatch. samples: terms in `variance`; std: mean of the policy's standard deviations.
SIM_HD IterationMetrics iteration_metrics(const Control& c, const EpisodeStats& episodes,
                                          const RewardTermSums& reward_terms, const VarianceTerms& variance,
                                          double samples, double std) {
  const double n = c.updates > 0 ? static_cast<double>(c.updates) : 1.0;
  const double target_mean = variance.target / samples, error_mean = variance.error / samples;
  const double target = variance.target_squares / samples - target_mean * target_mean;
  const double error = variance.error_squares / samples - error_mean * error_mean;
  IterationMetrics m;
  m.iteration = c.iteration + 1;
  m.updates = c.updates;
  m.skipped_updates = c.skipped_updates;
  m.learning_rate = c.learning_rate;
  m.grad_norm = c.grad_norm_sum / n;
  m.explained_variance = target > 0 ? 1.0 - error / target : nan("");
  m.std = std;
  m.loss = {c.loss.policy_loss / n,   c.loss.value_loss / n, c.loss.entropy / n,
            c.loss.old_approx_kl / n, c.loss.approx_kl / n,  c.loss.clipfrac / n};
  m.episodes = episodes;
  m.reward_terms = reward_terms;
  return m;
}

SIM_HD void begin_iteration(const UpdateSpec& u, Control& c) {
  const double done = static_cast<double>(c.iteration) / static_cast<double>(u.num_iterations);
  const double left = done < 1.0 ? 1.0 - done : 0.0;
  if (u.lr_schedule == LrSchedule::linear) c.learning_rate = u.learning_rate * left;
  if (u.lr_schedule == LrSchedule::cosine) c.learning_rate = u.learning_rate * 0.5 * (1.0 - cos(kPi * left));
  if (u.lr_schedule == LrSchedule::constant || (u.lr_schedule == LrSchedule::adaptive && c.iteration == 0))
    c.learning_rate = u.learning_rate;
  c.stop = 0;
  c.minibatch = 0;
  c.updates = c.skipped_updates = 0;
  c.loss = LossTerms{};
  c.grad_norm_sum = 0;
}

// After a minibatch's gradient is known and before Adam: `mean` holds the minibatch's means. Returns whether to update.
SIM_HD bool end_minibatch(const UpdateSpec& u, Control& c, const LossTerms& mean, double grad_norm) {
  const bool last_of_epoch = (c.minibatch + 1) % u.minibatches_per_epoch == 0;
  c.minibatch += 1;
  if (c.stop) return false;
  if (!is_finite(grad_norm)) {
    c.skipped_updates += 1;
    return false;
  }
  c.loss = c.loss + mean;
  c.grad_norm_sum += grad_norm;
  c.updates += 1;
  c.adam_step += 1;
  if (u.lr_schedule == LrSchedule::adaptive) {
    // Schulman et al. 2017 (the KL-penalty variant's rule) as legged-robot trainers use it for the learning rate
    if (mean.approx_kl > 2.0 * u.desired_kl) c.learning_rate = fmax(u.min_learning_rate, c.learning_rate / 1.5);
    if (mean.approx_kl < 0.5 * u.desired_kl) c.learning_rate = fmin(u.max_learning_rate, c.learning_rate * 1.5);
  }
  // as CleanRL: the epochs end once the KL of an epoch's last minibatch passes the target
  if (u.target_kl > 0 && last_of_epoch && mean.approx_kl > u.target_kl) c.stop = 1;
  return true;
}

}  // namespace hotloop
