// Adam (Kingma & Ba 2015, bias-corrected as in PyTorch) in two parts: what every parameter's step shares, worked out
// once from a minibatch's loss terms and gradient norm, and the step of one parameter.
#pragma once
#include <cstdint>

#include "train/control.h"

namespace hotloop {

struct AdamPlan {
  double apply, gradient_scale, step_size, inverse_sqrt_correction2;
};

// Brings control's metrics up to date; `sum` are the loss terms of `rows` rows. power(beta, t): beta^t.
template <class Power>
SIM_HD AdamPlan plan_step(const UpdateSpec& u, Control& c, const LossTerms& sum, double rows, double norm_squared,
                          const Power& power) {
  const LossTerms mean = {sum.policy_loss / rows,   sum.value_loss / rows, sum.entropy / rows,
                          sum.old_approx_kl / rows, sum.approx_kl / rows,  sum.clipfrac / rows};
  const double norm = sqrt(norm_squared);
  AdamPlan plan;
  plan.apply = end_minibatch(u, c, mean, norm) ? 1.0 : 0.0;
  const double limit = u.max_grad_norm / (norm + 1e-6);  // as torch's clip_grad_norm_
  plan.gradient_scale = limit < 1.0 ? limit : 1.0;
  plan.step_size = c.learning_rate / (1.0 - power(u.adam_beta1, c.adam_step));
  plan.inverse_sqrt_correction2 = 1.0 / sqrt(1.0 - power(u.adam_beta2, c.adam_step));
  return plan;
}

template <class Real>
struct AdamOp {
  const AdamPlan* plan;
  Real beta1, beta2, eps;
  const Real* gradient;
  Real *parameter, *moment1, *moment2;

  SIM_HD void operator()(std::int64_t i) const {
    if (plan->apply == 0.0) return;
    const Real g = gradient[i] * static_cast<Real>(plan->gradient_scale);
    const Real m = beta1 * moment1[i] + (Real(1) - beta1) * g;
    const Real v = beta2 * moment2[i] + (Real(1) - beta2) * g * g;
    moment1[i] = m;
    moment2[i] = v;
    const Real denominator = sqrt(v) * static_cast<Real>(plan->inverse_sqrt_correction2) + eps;
    parameter[i] -= static_cast<Real>(plan->step_size) * m / denominator;
  }
};

template <class Real>
AdamOp<Real> adam_op(const UpdateSpec& u, const AdamPlan* plan, const Real* gradient, Real* parameter, Real* moment1,
                     Real* moment2) {
  return {plan,
          static_cast<Real>(u.adam_beta1),
          static_cast<Real>(u.adam_beta2),
          static_cast<Real>(u.adam_eps),
          gradient,
          parameter,
          moment1,
          moment2};
}

}  // namespace hotloop
