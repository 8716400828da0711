// Action distributions: sampling, log-probability, entropy and their gradients, for one row of the actor's output. Pure
// functions over a Real type, the same on CPU and GPU.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"
#include "sim/core/math.h"
#include "sim/core/rng.h"
#include "train/policy_kinds.h"

namespace hotloop {

// The head as kernels see it; pointers on the device of the run.
struct HeadView {
  HeadKind kind = HeadKind::categorical;
  int dim = 0;       // components of an action
  int head_dim = 0;  // outputs of the actor
  bool state_std = false;
  const std::int32_t* nvec = nullptr;           // [dim] choices, categorical only
  const float *low = nullptr, *high = nullptr;  // [dim] bounds, box only
};

inline constexpr double kHalfLog2Pi = 0.91893853320467274178;
// State-dependent log standard deviations are clamped to this range (gradient 0 outside).
inline constexpr double kMinLogStd = -20.0, kMaxLogStd = 2.0;

template <class Real>
SIM_HD Real log_std_at(const HeadView& h, const Real* head, const Real* log_std, int k) {
  return h.state_std ? clamp(head[h.dim + k], Real(kMinLogStd), Real(kMaxLogStd)) : log_std[k];
}

// log of the sum of exp over the legal choices of one component.
template <class Real>
SIM_HD Real log_normaliser(const Real* logits, const std::uint8_t* mask, int n) {
  Real highest = Real(-1e30);
  for (int k = 0; k < n; ++k)
    if ((mask == nullptr || mask[k]) && logits[k] > highest) highest = logits[k];
  Real sum = 0;
  for (int k = 0; k < n; ++k)
    if (mask == nullptr || mask[k]) sum += exp(logits[k] - highest);
  return highest + log(sum);
}

// Draws an action. Categorical: action[dim] receives the choices. Box: sample[dim] receives the Gaussian's draw, on
// which log-probabilities are taken, and env_action[dim] what the environment gets: the draw clipped to the bounds, or
// tanh of it scaled to them. Deterministic: the mode. Returns the log-probability.
SIM_HD float draw_categorical(const HeadView& h, const float* head, const std::uint8_t* mask, bool deterministic,
                              Rng& rng, std::int64_t* action) {
  float log_prob = 0;
  int first = 0;
  for (int c = 0; c < h.dim; ++c) {
    const int n = h.nvec[c];
    const float* logits = head + first;
    const std::uint8_t* legal = mask == nullptr ? nullptr : mask + first;
    const float norm = log_normaliser(logits, legal, n);
    const float u = deterministic ? 2.0f : rng.uniform();
    int chosen = -1;
    float cumulative = 0;
    for (int k = 0; k < n; ++k) {
      if (legal != nullptr && !legal[k]) continue;
      if (deterministic) {
        if (chosen < 0 || logits[k] > logits[chosen]) chosen = k;
      } else if (cumulative <= u) {  // the last legal choice takes what rounding leaves over
        chosen = k;
        cumulative += expf(logits[k] - norm);
      }
    }
    action[c] = chosen;
    log_prob += logits[chosen] - norm;
    first += n;
  }
  return log_prob;
}

// What the environment is given of dimension k's sample x.
SIM_HD float given_action(const HeadView& h, float x, int k) {
  if (h.kind != HeadKind::squashed_gaussian) return clamp(x, h.low[k], h.high[k]);
  return h.low[k] + 0.5f * (tanhf(x) + 1.0f) * (h.high[k] - h.low[k]);
}

SIM_HD float draw_gaussian(const HeadView& h, const float* head, const float* log_std, bool deterministic, Rng& rng,
                           float* sample, float* env_action) {
  float log_prob = 0;
  for (int k = 0; k < h.dim; ++k) {
    const float ls = log_std_at(h, head, log_std, k);
    const float noise = deterministic ? 0.0f : rng.normal();
    const float x = head[k] + expf(ls) * noise;
    log_prob += -0.5f * noise * noise - ls - static_cast<float>(kHalfLog2Pi);
    if (sample != nullptr) sample[k] = x;
    env_action[k] = given_action(h, x, k);
    if (h.kind == HeadKind::squashed_gaussian) {
      // d action / d x: the factor by which squashing changes the density
      const float t = tanhf(x);
      log_prob -= logf(0.5f * (h.high[k] - h.low[k]) * (1.0f - t * t) + 1e-6f);
    }
  }
  return log_prob;
}

template <class Real>
struct LogProb {
  Real value = 0, entropy = 0;
};

// Log-probability and entropy of a stored action. For a squashed Gaussian the entropy is that of the Gaussian before
// squashing (the squashed one has no closed form).
template <class Real>
SIM_HD LogProb<Real> log_prob_categorical(const HeadView& h, const Real* head, const std::uint8_t* mask,
                                          const std::int64_t* action) {
  LogProb<Real> result;
  int first = 0;
  for (int c = 0; c < h.dim; ++c) {
    const int n = h.nvec[c];
    const std::uint8_t* legal = mask == nullptr ? nullptr : mask + first;
    const Real norm = log_normaliser(head + first, legal, n);
    for (int k = 0; k < n; ++k) {
      if (legal != nullptr && !legal[k]) continue;
      const Real lp = head[first + k] - norm;
      result.entropy -= exp(lp) * lp;
    }
    result.value += head[first + static_cast<int>(action[c])] - norm;
    first += n;
  }
  return result;
}

// d_head = d_value * d(log prob)/d(head) + d_entropy * d(entropy)/d(head).
template <class Real>
SIM_HD void backward_categorical(const HeadView& h, const Real* head, const std::uint8_t* mask,
                                 const std::int64_t* action, Real d_value, Real d_entropy, Real* d_head) {
  int first = 0;
  for (int c = 0; c < h.dim; ++c) {
    const int n = h.nvec[c];
    const std::uint8_t* legal = mask == nullptr ? nullptr : mask + first;
    const Real norm = log_normaliser(head + first, legal, n);
    Real entropy = 0;
    for (int k = 0; k < n; ++k) {
      if (legal != nullptr && !legal[k]) continue;
      const Real lp = head[first + k] - norm;
      entropy -= exp(lp) * lp;
    }
    for (int k = 0; k < n; ++k) {
      const bool allowed = legal == nullptr || legal[k];
      const Real lp = head[first + k] - norm;
      const Real p = allowed ? exp(lp) : Real(0);
      const Real chosen = k == static_cast<int>(action[c]) ? Real(1) : Real(0);
      d_head[first + k] = allowed ? d_value * (chosen - p) - d_entropy * p * (lp + entropy) : Real(0);
    }
    first += n;
  }
}

template <class Real>
SIM_HD LogProb<Real> log_prob_gaussian(const HeadView& h, const Real* head, const Real* log_std, const Real* sample) {
  LogProb<Real> result;
  for (int k = 0; k < h.dim; ++k) {
    const Real ls = log_std_at(h, head, log_std, k);
    const Real z = (sample[k] - head[k]) * exp(-ls);
    result.value += Real(-0.5) * z * z - ls - Real(kHalfLog2Pi);
    result.entropy += Real(0.5) + Real(kHalfLog2Pi) + ls;
    if (h.kind == HeadKind::squashed_gaussian) {
      const Real t = tanh(sample[k]);
      result.value -= log(Real(0.5) * Real(h.high[k] - h.low[k]) * (Real(1) - t * t) + Real(1e-6));
    }
  }
  return result;
}

// d_log_std [dim] receives this sample's part of a global log_std's gradient; with state_std it goes to d_head instead.
template <class Real>
SIM_HD void backward_gaussian(const HeadView& h, const Real* head, const Real* log_std, const Real* sample,
                              Real d_value, Real d_entropy, Real* d_head, Real* d_log_std) {
  for (int k = 0; k < h.dim; ++k) {
    const Real ls = log_std_at(h, head, log_std, k);
    const Real inverse = exp(-ls);
    const Real z = (sample[k] - head[k]) * inverse;
    d_head[k] = d_value * z * inverse;
    const Real d_ls = d_value * (z * z - Real(1)) + d_entropy;
    if (h.state_std) {
      const Real raw = head[h.dim + k];
      d_head[h.dim + k] = raw >= Real(kMinLogStd) && raw <= Real(kMaxLogStd) ? d_ls : Real(0);
    } else {
      d_log_std[k] = d_ls;
    }
  }
}

}  // namespace hotloop
