// Pendulum-v1: swing a pendulum up with a weak motor and hold it; the reward is minus a quadratic cost.
// Physics: a rod about its end, semi-implicit Euler, as in Gymnasium's pendulum.py.
#pragma once
#include "sim/core/env.h"
#include "sim/envs/planar.h"

namespace hotloop {

template <class R>
struct Pendulum {
  using Real = R;
  using Action = R;
  static constexpr int kObsDim = 3, kActionDim = 1, kFrames = 2;

  // Shared by all worlds of a batch. SI units.
  struct Params {
    Real gravity = Real(10);        // [m/s^2]
    Real mass = Real(1);            // [kg]
    Real length = Real(1);          // [m]
    Real dt = Real(0.05);           // [s]
    Real max_speed = Real(8);       // [rad/s]
    Real max_torque = Real(2);      // [N m]
    Real init_theta = Real(kPi);    // [rad] reset range, each side
    Real init_theta_dot = Real(1);  // [rad/s]
  };

  struct State {
    Real theta, theta_dot;  // [rad], [rad/s], 0 = upright
  };

  static EnvSpec spec() {
    return {.name = "Pendulum-v1",
            .observation = {{-1.0f, -1.0f, -8.0f}, {1.0f, 1.0f, 8.0f}},
            .action = ActionSpace::box({-2.0f}, {2.0f}),
            .max_episode_steps = 200,
            .control_period = 0.05};
  }

  SIM_HD static void reset(const Params& p, State& s, Rng& rng) {
    s.theta = rng.uniform(-p.init_theta, p.init_theta);
    s.theta_dot = rng.uniform(-p.init_theta_dot, p.init_theta_dot);
  }

  SIM_HD static StepResult<Real> step(const Params& p, State& s, const Action* action, Rng&) {
    const Real torque = clamp(action[0], -p.max_torque, p.max_torque);
    // the reference lets theta grow; keeping it within a turn of 0 is the same pendulum and keeps single precision
    const Real theta = wrap_angle(s.theta);
    Real sin_t, cos_t;
    sin_cos(theta, sin_t, cos_t);
    const Real cost = theta * theta + Real(0.1) * (s.theta_dot * s.theta_dot) + Real(0.001) * (torque * torque);
    const Real theta_acc = Real(3) * p.gravity / (Real(2) * p.length) * sin_t +  //
                           Real(3) / (p.mass * p.length * p.length) * torque;
    s.theta_dot = clamp(s.theta_dot + theta_acc * p.dt, -p.max_speed, p.max_speed);
    s.theta = theta + s.theta_dot * p.dt;
    return {-cost, false};
  }

  SIM_HD static void observe(const Params&, const State& s, Real* obs) {
    sin_cos(s.theta, obs[1], obs[0]);
    obs[2] = s.theta_dot;
  }

  template <class Shapes>
  static void visual(const Params& p, Shapes& shapes) {
    const int rod = shapes.frame("rod");
    shapes.capsule(rod, {0, 0, 0}, {0, 0, static_cast<float>(p.length)}, 0.1f, {0.8f, 0.3f, 0.3f});
    shapes.cylinder(rod, {0, -0.11f, 0}, {0, 0.11f, 0}, 0.05f, {0.1f, 0.1f, 0.1f});
    shapes.look_at({0, 0, 0}, 1.1f, 3.4f, -8);
  }
  SIM_HD static void frames(const Params&, const State& s, Frame* out) {
    out[1] = planar_frame(0.0f, 0.0f, -static_cast<float>(s.theta));
  }
};

static_assert(ThreadEnv<Pendulum<float>>);

}  // namespace hotloop
