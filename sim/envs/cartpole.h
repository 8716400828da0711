// CartPole-v1: balance a pole on a cart; +1 per step until the pole tips or the cart leaves.
// Physics: Barto, Sutton & Anderson (1983), explicit Euler, as in Gymnasium's cartpole.py.
#pragma once
#include "sim/core/env.h"
#include "sim/envs/planar.h"

namespace hotloop {

template <class R>
struct CartPole {
  using Real = R;
  using Action = int;
  static constexpr int kObsDim = 4, kActionDim = 1, kFrames = 3;

  // Shared by all worlds of a batch. SI units.
  struct Params {
    Real gravity = Real(9.8);                           // [m/s^2]
    Real cart_mass = Real(1.0);                         // [kg]
    Real pole_mass = Real(0.1);                         // [kg]
    Real half_length = Real(0.5);                       // [m] pivot to pole centre of mass
    Real force = Real(10.0);                            // [N]
    Real dt = Real(0.02);                               // [s]
    Real x_limit = Real(2.4);                           // [m]
    Real theta_limit = Real(12.0 * 2.0 * kPi / 360.0);  // [rad] 12 degrees
    Real init_range = Real(0.05);                       // reset noise of every state entry
  };

  struct State {
    Real x, x_dot;          // [m], [m/s]
    Real theta, theta_dot;  // [rad], [rad/s], 0 = upright
  };

  static EnvSpec spec() {
    const float inf = std::numeric_limits<float>::infinity();
    const auto x = static_cast<float>(2 * 2.4);
    const auto theta = static_cast<float>(2 * 12.0 * 2.0 * kPi / 360.0);  // twice the limits, as Gymnasium states
    return {.name = "CartPole-v1",
            .observation = {{-x, -inf, -theta, -inf}, {x, inf, theta, inf}},
            .action = ActionSpace::discrete(2),
            .max_episode_steps = 500,
            .reward_threshold = 475,
            .control_period = 0.02};
  }

  SIM_HD static void reset(const Params& p, State& s, Rng& rng) {
    s.x = rng.uniform(-p.init_range, p.init_range);
    s.x_dot = rng.uniform(-p.init_range, p.init_range);
    s.theta = rng.uniform(-p.init_range, p.init_range);
    s.theta_dot = rng.uniform(-p.init_range, p.init_range);
  }

  SIM_HD static StepResult<Real> step(const Params& p, State& s, const Action* action, Rng&) {
    const Real force = action[0] == 1 ? p.force : -p.force;
    Real sin_t, cos_t;
    sin_cos(s.theta, sin_t, cos_t);
    const Real mass = p.cart_mass + p.pole_mass;
    const Real pole_ml = p.pole_mass * p.half_length;

    const Real push = (force + pole_ml * s.theta_dot * s.theta_dot * sin_t) / mass;
    const Real theta_acc =
        (p.gravity * sin_t - cos_t * push) / (p.half_length * (Real(4.0 / 3.0) - p.pole_mass * cos_t * cos_t / mass));
    const Real x_acc = push - pole_ml * theta_acc * cos_t / mass;

    // positions first, with the old velocities: explicit Euler, as the reference does
    s.x += p.dt * s.x_dot;
    s.x_dot += p.dt * x_acc;
    s.theta += p.dt * s.theta_dot;
    s.theta_dot += p.dt * theta_acc;

    const bool out = s.x < -p.x_limit || s.x > p.x_limit;
    const bool fell = s.theta < -p.theta_limit || s.theta > p.theta_limit;
    return {Real(1), out || fell};
  }

  SIM_HD static void observe(const Params&, const State& s, Real* obs) {
    obs[0] = s.x;
    obs[1] = s.x_dot;
    obs[2] = s.theta;
    obs[3] = s.theta_dot;
  }

  // As Gymnasium draws it: the pole turns about a pivot a quarter of the cart above its middle.
  template <class Shapes>
  static void visual(const Params& p, Shapes& shapes) {
    const float limit = static_cast<float>(p.x_limit), length = static_cast<float>(2 * p.half_length);
    shapes.cylinder(0, {-limit, 0, 0}, {limit, 0, 0}, 0.01f, {0.6f, 0.6f, 0.6f});
    const int cart = shapes.frame("cart"), pole = shapes.frame("pole");
    shapes.box(cart, {0, 0, 0}, {0.2f, 0.1f, 0.12f}, {0.32f, 0.36f, 0.45f});
    shapes.capsule(pole, {0, 0, 0}, {0, 0, length}, 0.04f, {0.79f, 0.6f, 0.4f});
    shapes.cylinder(pole, {0, -0.105f, 0}, {0, 0.105f, 0}, 0.04f, {0.5f, 0.52f, 0.8f});
    shapes.look_at({0, 0, 0.4f}, limit, 4.4f, -8);
  }
  SIM_HD static void frames(const Params&, const State& s, Frame* out) {
    out[1] = planar_frame(static_cast<float>(s.x), 0.0f, 0.0f);
    out[2] = planar_frame(static_cast<float>(s.x), 0.06f, static_cast<float>(s.theta));
  }
};

static_assert(ThreadEnv<CartPole<float>>);

}  // namespace hotloop
