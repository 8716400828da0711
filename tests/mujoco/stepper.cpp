#include "tests/mujoco/stepper.h"

#include <mujoco/mujoco.h>

#include <random>
#include <stdexcept>
#include <type_traits>

#include "sim/mujoco/step.h"

namespace hotloop {
namespace {

// f(integral constant N) with the model's bound N >= nv.
template <class F>
void with_bound(int bound, F f) {
  if (bound == 16) return f(std::integral_constant<int, 16>{});
  if (bound == 32) return f(std::integral_constant<int, 32>{});
  if (bound == 64) return f(std::integral_constant<int, 64>{});
  if (bound == kMaxDofs) return f(std::integral_constant<int, kMaxDofs>{});
  throw std::invalid_argument("no such bound");
}

}  // namespace

template <class Real>
Stepper<Real>::Stepper(const ModelData& data)
    : memory_(data, Device{}),
      model_(memory_.view()),
      layout_(make_layout(data, kKeepAll)),
      reals_(static_cast<std::size_t>(layout_.reals) + 4) {}

template <class Real>
void Stepper<Real>::forward() {
  with_bound(model_.bound, [&](auto n) { hotloop::forward<n()>(SerialGroup<32>{}, model_, world(), true); });
}

template <class Real>
void Stepper<Real>::step() {
  with_bound(model_.bound, [&](auto n) { physics_step<n()>(SerialGroup<32>{}, model_, world(), true); });
}

template <class Real>
void Stepper<Real>::set_state(const double* qpos, const double* qvel, const double* warmstart, const double* ctrl) {
  const World<Real> w = world();
  for (int i = 0; i < model_.nq; ++i) w.qpos()[i] = static_cast<Real>(qpos[i]);
  for (int i = 0; i < model_.nv; ++i) w.qvel()[i] = static_cast<Real>(qvel[i]);
  for (int i = 0; i < model_.nv; ++i) w.qacc_warmstart()[i] = static_cast<Real>(warmstart[i]);
  for (int i = 0; i < model_.nu; ++i) w.ctrl()[i] = static_cast<Real>(ctrl[i]);
  w.counts()[kStatus] = 0;
}

template <class Real>
int Stepper<Real>::constraint_rows() {
  return world().counts()[kScalars];
}

template class Stepper<float>;
template class Stepper<double>;

ModelData perturbed_model(const LoadedModel& model, unsigned seed, double relative) {
  const ModelData& data = model.data();
  ModelData copy = data;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> error(-relative, relative);
  const auto perturb = [&](std::vector<double>& values) {
    for (double& x : values) x += x * error(random);
  };
#define HOTLOOP_PERTURB(name, rows, columns) perturb(copy.name);
  HOTLOOP_MODEL_REALS(HOTLOOP_PERTURB)
  HOTLOOP_MODEL_FIELDS(HOTLOOP_PERTURB)
#undef HOTLOOP_PERTURB
  // what M is rounded by: in a badly conditioned one that says more than inertias that change together
  for (int i = 0; i < data.nv; ++i) copy.dof_armature[i] += model.mujoco()->dof_M0[i] * error(random);
  // powers 1 and 2 are cases of their own
  for (int row = 0; row < data.nsol; ++row) copy.sol[8 * row + kSolPower] = data.sol[8 * row + kSolPower];
  return copy;
}

}  // namespace hotloop
