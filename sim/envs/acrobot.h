// Acrobot-v1: swing the tip of a two-link pendulum, driven at the elbow, above a line; -1 per step until it is there.
// Physics: Sutton (1996) with the equations of Sutton & Barto's book, one Runge-Kutta step of fourth order, as in
// Gymnasium's acrobot.py.
#pragma once
#include "sim/core/env.h"
#include "sim/envs/planar.h"

namespace hotloop {

template <class R>
struct Acrobot {
  using Real = R;
  using Action = int;
  static constexpr int kObsDim = 6, kActionDim = 1, kFrames = 3;

  // Shared by all worlds of a batch. SI units. Both links have the same mass, inertia and centre of mass.
  struct Params {
    Real gravity = Real(9.8);          // [m/s^2]
    Real mass = Real(1);               // [kg]
    Real inertia = Real(1);            // [kg m^2] about the centre of mass
    Real length = Real(1);             // [m] of the first link
    Real com = Real(0.5);              // [m] joint to centre of mass
    Real torque = Real(1);             // [N m]
    Real dt = Real(0.2);               // [s]
    Real max_speed_1 = Real(4 * kPi);  // [rad/s]
    Real max_speed_2 = Real(9 * kPi);  // [rad/s]
    Real goal_height = Real(1);        // [m] of the tip above the pivot, for links of 1 m
    Real init_range = Real(0.1);       // reset noise of every state entry
  };

  struct State {
    Real theta_1, theta_2;          // [rad] 0 = hanging; the second relative to the first
    Real theta_1_dot, theta_2_dot;  // [rad/s]
  };

  static EnvSpec spec() {
    const auto speed_1 = static_cast<float>(4 * kPi), speed_2 = static_cast<float>(9 * kPi);
    return {.name = "Acrobot-v1",
            .observation = {{-1, -1, -1, -1, -speed_1, -speed_2}, {1, 1, 1, 1, speed_1, speed_2}},
            .action = ActionSpace::discrete(3),  // torque -1, 0, +1
            .max_episode_steps = 500,
            .reward_threshold = -100,
            .control_period = 0.2};
  }

  SIM_HD static void reset(const Params& p, State& s, Rng& rng) {
    s.theta_1 = rng.uniform(-p.init_range, p.init_range);
    s.theta_2 = rng.uniform(-p.init_range, p.init_range);
    s.theta_1_dot = rng.uniform(-p.init_range, p.init_range);
    s.theta_2_dot = rng.uniform(-p.init_range, p.init_range);
  }

  // d/dt of the state.
  SIM_HD static State derivative(const Params& p, const State& s, Real torque) {
    Real sin_1, cos_1, sin_2, cos_2;
    sin_cos(s.theta_1, sin_1, cos_1);
    sin_cos(s.theta_2, sin_2, cos_2);
    const Real sin_12 = sin_1 * cos_2 + cos_1 * sin_2;
    const Real moment = p.mass * p.length * p.com;
    const Real com_inertia = p.mass * p.com * p.com + p.inertia;
    const Real d2 = com_inertia + moment * cos_2;
    const Real d1 = com_inertia + p.mass * p.length * p.length + moment * cos_2 + d2;
    const Real phi_2 = p.mass * p.com * p.gravity * sin_12;
    const Real phi_1 = -moment * s.theta_2_dot * (s.theta_2_dot + Real(2) * s.theta_1_dot) * sin_2 +
                       (p.mass * p.com + p.mass * p.length) * p.gravity * sin_1 + phi_2;
    const Real ratio = d2 / d1;
    const Real acc_2 =
        (torque + ratio * phi_1 - moment * s.theta_1_dot * s.theta_1_dot * sin_2 - phi_2) / (com_inertia - d2 * ratio);
    return {s.theta_1_dot, s.theta_2_dot, -(d2 * acc_2 + phi_1) / d1, acc_2};
  }

  SIM_HD static State advance(const State& s, const State& rate, Real dt) {
    return {s.theta_1 + dt * rate.theta_1, s.theta_2 + dt * rate.theta_2, s.theta_1_dot + dt * rate.theta_1_dot,
            s.theta_2_dot + dt * rate.theta_2_dot};
  }

  SIM_HD static StepResult<Real> step(const Params& p, State& s, const Action* action, Rng&) {
    const Real torque = static_cast<Real>(action[0] - 1) * p.torque;
    const State k1 = derivative(p, s, torque);
    const State k2 = derivative(p, advance(s, k1, p.dt / Real(2)), torque);
    const State k3 = derivative(p, advance(s, k2, p.dt / Real(2)), torque);
    const State k4 = derivative(p, advance(s, k3, p.dt), torque);
    const State sum = advance(advance(k1, k4, Real(1)), advance(k2, k3, Real(1)), Real(2));
    s = advance(s, sum, p.dt / Real(6));
    s.theta_1 = wrap_angle(s.theta_1);
    s.theta_2 = wrap_angle(s.theta_2);
    s.theta_1_dot = clamp(s.theta_1_dot, -p.max_speed_1, p.max_speed_1);
    s.theta_2_dot = clamp(s.theta_2_dot, -p.max_speed_2, p.max_speed_2);

    Real sin_1, cos_1, sin_2, cos_2;
    sin_cos(s.theta_1, sin_1, cos_1);
    sin_cos(s.theta_2, sin_2, cos_2);
    const Real height = -cos_1 - (cos_1 * cos_2 - sin_1 * sin_2);
    const bool up = height > p.goal_height;
    return {up ? Real(0) : Real(-1), up};
  }

  SIM_HD static void observe(const Params&, const State& s, Real* obs) {
    sin_cos(s.theta_1, obs[1], obs[0]);
    sin_cos(s.theta_2, obs[3], obs[2]);
    obs[4] = s.theta_1_dot;
    obs[5] = s.theta_2_dot;
  }

  // The second link lies in front of the first; the line is the goal of its tip.
  template <class Shapes>
  static void visual(const Params& p, Shapes& shapes) {
    const float length = static_cast<float>(p.length), goal = static_cast<float>(p.goal_height);
    shapes.cylinder(0, {-2.2f, 0, goal}, {2.2f, 0, goal}, 0.015f, {0.1f, 0.1f, 0.1f});
    const char* const names[] = {"upper link", "lower link"};
    for (const char* name : names) {
      const int link = shapes.frame(name);
      const float y = link == 1 ? 0.0f : -0.2f;
      shapes.capsule(link, {0, y, 0}, {0, y, -length}, 0.09f, {0.0f, 0.7f, 0.7f});
      shapes.cylinder(link, {0, y - 0.11f, 0}, {0, y + 0.11f, 0}, 0.1f, {0.8f, 0.8f, 0.0f});
    }
    shapes.look_at({0, 0, 0}, 2.2f, 6.5f, -8);
  }
  SIM_HD static void frames(const Params& p, const State& s, Frame* out) {
    const float theta = static_cast<float>(s.theta_1), length = static_cast<float>(p.length);
    float sine, cosine;
    sin_cos(theta, sine, cosine);
    out[1] = planar_frame(0.0f, 0.0f, -theta);
    out[2] = planar_frame(length * sine, -length * cosine, -theta - static_cast<float>(s.theta_2));
  }
};

static_assert(ThreadEnv<Acrobot<float>>);

}  // namespace hotloop
