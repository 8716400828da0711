// The loss of one sample of a PPO minibatch (Schulman et al. 2017, with CleanRL's clipped value loss) and its gradient
// with respect to the networks' outputs. Pure functions over a Real type, the same on CPU and GPU.
#pragma once
#include "train/control.h"
#include "train/distribution.h"

namespace hotloop {

template <class Real>
struct LossWeights {
  Real clip, entropy, value;
  bool clip_value;
};

template <class Real>
SIM_HD LossWeights<Real> loss_weights(const UpdateSpec& u) {
  return {Real(u.clip_coef), Real(u.ent_coef), Real(u.vf_coef), u.clip_vloss};
}

template <class Real>
struct ActorTerms {
  Real loss, entropy, log_ratio, ratio, clipped;
};

// d_head (and d_log_std) receive `scale` times the gradient of the clipped surrogate minus the entropy bonus.
// `action`, or `sample` for a Gaussian, is what was drawn, with `old_log_prob` at that time.
template <class Real>
SIM_HD ActorTerms<Real> actor_loss(const LossWeights<Real>& weights, const HeadView& head, const Real* row,
                                   const Real* log_std, const std::uint8_t* mask, const std::int64_t* action,
                                   const Real* sample, Real old_log_prob, Real advantage, Real scale, Real* d_head,
                                   Real* d_log_std) {
  const bool categorical = head.kind == HeadKind::categorical;
  const LogProb<Real> now =
      categorical ? log_prob_categorical(head, row, mask, action) : log_prob_gaussian(head, row, log_std, sample);
  const Real log_ratio = now.value - old_log_prob;
  const Real ratio = exp(log_ratio);
  const Real plain = -advantage * ratio;
  const Real clipped = -advantage * clamp(ratio, Real(1) - weights.clip, Real(1) + weights.clip);
  const Real d_log_prob = plain >= clipped ? plain * scale : Real(0);  // d(-A r)/d(log prob) = -A r
  const Real d_entropy = -weights.entropy * scale;
  if (categorical)
    backward_categorical(head, row, mask, action, d_log_prob, d_entropy, d_head);
  else
    backward_gaussian(head, row, log_std, sample, d_log_prob, d_entropy, d_head, d_log_std);
  const Real off = ratio - Real(1);
  return {plain > clipped ? plain : clipped, now.entropy, log_ratio, ratio,
          off > weights.clip || off < -weights.clip ? Real(1) : Real(0)};
}

// The value loss without its weight; d receives its derivative.
template <class Real>
SIM_HD Real critic_loss(const LossWeights<Real>& weights, Real value, Real old_value, Real target, Real& d) {
  const Real error = value - target;
  d = error;
  if (!weights.clip_value) return Real(0.5) * error * error;
  const Real step = value - old_value;
  const Real clipped_error = old_value + clamp(step, -weights.clip, weights.clip) - target;
  if (clipped_error * clipped_error <= error * error) return Real(0.5) * error * error;
  d = step >= -weights.clip && step <= weights.clip ? clipped_error : Real(0);
  return Real(0.5) * clipped_error * clipped_error;
}

// What the advantages of a minibatch are normalised with: the mean and 1 / (deviation + 1e-8), the deviation unbiased
// as torch.std's. `terms` are sums over n advantages.
struct AdvantageTerms {
  double sum = 0, squares = 0;
};
SIM_HD AdvantageTerms operator+(const AdvantageTerms& a, const AdvantageTerms& b) {
  return {a.sum + b.sum, a.squares + b.squares};
}
struct AdvantageScale {
  double mean = 0, deviation = 0;
};
SIM_HD AdvantageScale advantage_scale(const AdvantageTerms& terms, double n) {
  const double mean = terms.sum / n;
  const double variance = (terms.squares - n * mean * mean) / (n - 1);
  return {mean, sqrt(variance > 0 ? variance : 0)};
}

SIM_HD bool normalises(const UpdateSpec& u, std::int64_t n) { return u.norm_adv && n >= 2; }
}  // namespace hotloop
