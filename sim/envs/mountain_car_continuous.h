// MountainCarContinuous-v0: the mountain car with a force in [-1, 1]; 100 at the flag, less the square of the action.
// Physics: Moore (1990), as in Gymnasium's continuous_mountain_car.py, whose goal and engine differ from the discrete.
#pragma once
#include "sim/core/env.h"
#include "sim/envs/planar.h"

namespace hotloop {

template <class R>
struct MountainCarContinuous {
  using Real = R;
  using Action = R;
  static constexpr int kObsDim = 2, kActionDim = 1, kFrames = 2;

  // Shared by all worlds of a batch. The task has no units: the valley is sin(3 x), a step is one unit of time.
  struct Params {
    Real min_position = Real(-1.2);
    Real max_position = Real(0.6);
    Real max_speed = Real(0.07);
    Real goal_position = Real(0.45);
    Real goal_velocity = Real(0);
    Real max_action = Real(1);
    Real power = Real(0.0015);
    Real gravity = Real(0.0025);
    Real goal_reward = Real(100);
    Real action_cost = Real(0.1);
    Real init_low = Real(-0.6), init_high = Real(-0.4);
  };

  struct State {
    Real position, velocity;
  };

  static EnvSpec spec() {
    return {.name = "MountainCarContinuous-v0",
            .observation = {{-1.2f, -0.07f}, {0.6f, 0.07f}},
            .action = ActionSpace::box({-1.0f}, {1.0f}),
            .max_episode_steps = 999,
            .reward_threshold = 90};
  }

  SIM_HD static void reset(const Params& p, State& s, Rng& rng) {
    s.position = rng.uniform(p.init_low, p.init_high);
    s.velocity = Real(0);
  }

  SIM_HD static StepResult<Real> step(const Params& p, State& s, const Action* action, Rng&) {
    Real sin_slope, cos_slope;
    sin_cos(Real(3) * s.position, sin_slope, cos_slope);
    const Real force = clamp(action[0], -p.max_action, p.max_action);
    const Real velocity = clamp(s.velocity + (force * p.power - p.gravity * cos_slope), -p.max_speed, p.max_speed);
    s.position = clamp(s.position + velocity, p.min_position, p.max_position);
    // the left wall stops the car
    const bool at_wall = s.position == p.min_position && velocity < Real(0);
    s.velocity = at_wall ? Real(0) : velocity;
    const bool at_goal = s.position >= p.goal_position && s.velocity >= p.goal_velocity;
    // the reference charges for the action as given, not as clipped
    const Real cost = action[0] * action[0] * p.action_cost;
    return {(at_goal ? p.goal_reward : Real(0)) - cost, at_goal};
  }

  SIM_HD static void observe(const Params&, const State& s, Real* obs) {
    obs[0] = s.position;
    obs[1] = s.velocity;
  }

  template <class Shapes>
  static void visual(const Params& p, Shapes& shapes) {
    mountain_car_visual(static_cast<float>(p.min_position), static_cast<float>(p.max_position),
                        static_cast<float>(p.goal_position), shapes);
  }
  SIM_HD static void frames(const Params&, const State& s, Frame* out) {
    out[1] = car_frame(static_cast<float>(s.position));
  }
};

static_assert(ThreadEnv<MountainCarContinuous<float>>);

}  // namespace hotloop
