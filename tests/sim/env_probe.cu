#include "tests/sim/env_probe.h"

#include <cstring>
#include <stdexcept>

#include "sim/core/launch.h"
#include "sim/envs/env_list.h"

namespace hotloop {
namespace {

template <class E>
struct ProbeOp {
  using Real = typename E::Real;
  static constexpr int kWords = sizeof(typename E::State) / sizeof(Real);
  typename E::Params params;
  const double* state;
  const float* action;
  double *next_state, *observation, *reward;
  std::uint8_t* terminated;

  SIM_HD void operator()(std::int64_t i) const {
    Real words[kWords], seen[E::kObsDim];
    for (int k = 0; k < kWords; ++k) words[k] = static_cast<Real>(state[i * kWords + k]);
    typename E::State s;
    memcpy(&s, words, sizeof s);
    const auto given = static_cast<typename E::Action>(action[i]);
    Rng rng(0, RngStream::dynamics, 0, 0);
    const StepResult<Real> result = E::step(params, s, &given, rng);
    E::observe(params, s, seen);
    memcpy(words, &s, sizeof s);
    for (int k = 0; k < kWords; ++k) next_state[i * kWords + k] = words[k];
    for (int k = 0; k < E::kObsDim; ++k) observation[i * E::kObsDim + k] = seen[k];
    reward[i] = result.reward;
    terminated[i] = result.terminated;
  }
};

template <class T>
Buffer<T> upload(const Exec& exec, const std::vector<T>& values) {
  Buffer<T> out(exec.device, values.size());
  copy_async(exec, out.data(), exec.device, values.data(), {}, out.bytes());
  return out;
}

template <class T>
std::vector<T> download(const Exec& exec, const Buffer<T>& values) {
  std::vector<T> out(values.size());
  copy_async(exec, out.data(), {}, values.data(), exec.device, values.bytes());
  synchronize(exec);
  return out;
}

template <class E>
ProbeResult run(const Exec& exec, const std::vector<double>& state, const std::vector<float>& action) {
  const std::size_t rows = action.size();
  if (state.size() != rows * ProbeOp<E>::kWords) throw std::logic_error("probe_step: sizes differ");
  const Buffer<double> in = upload(exec, state);
  const Buffer<float> given = upload(exec, action);
  const Buffer<double> next(exec.device, state.size()), seen(exec.device, rows * E::kObsDim), reward(exec.device, rows);
  const Buffer<std::uint8_t> terminated(exec.device, rows);
  parallel_for(exec, static_cast<std::int64_t>(rows),
               ProbeOp<E>{{}, in.data(), given.data(), next.data(), seen.data(), reward.data(), terminated.data()});
  return {download(exec, next), download(exec, seen), download(exec, reward), download(exec, terminated)};
}

}  // namespace

ProbeResult probe_step(const Exec& exec, const std::string& env, bool double_precision,
                       const std::vector<double>& state, const std::vector<float>& action) {
  const auto run_as = [&]<template <class> class E>() {
    return double_precision ? run<E<double>>(exec, state, action) : run<E<float>>(exec, state, action);
  };
  if (env == "CartPole-v1") return run_as.operator()<CartPole>();
  if (env == "MountainCar-v0") return run_as.operator()<MountainCar>();
  if (env == "MountainCarContinuous-v0") return run_as.operator()<MountainCarContinuous>();
  if (env == "Pendulum-v1") return run_as.operator()<Pendulum>();
  if (env == "Acrobot-v1") return run_as.operator()<Acrobot>();
  throw std::logic_error("probe_step: " + env);
}

}  // namespace hotloop
