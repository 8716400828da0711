// MountainCar-v0: an engine too weak for the slope must swing a car up to the flag; -1 per step.
// Physics: Moore (1990), as in Gymnasium's mountain_car.py.
#pragma once
#include "sim/core/env.h"
#include "sim/envs/planar.h"

namespace hotloop {

template <class R>
struct MountainCar {
  using Real = R;
  using Action = int;
  static constexpr int kObsDim = 2, kActionDim = 1, kFrames = 2;

  // Shared by all worlds of a batch. The task has no units: the valley is sin(3 x), a step is one unit of time.
  struct Params {
    Real min_position = Real(-1.2);
    Real max_position = Real(0.6);
    Real max_speed = Real(0.07);
    Real goal_position = Real(0.5);
    Real goal_velocity = Real(0);
    Real force = Real(0.001);
    Real gravity = Real(0.0025);
    Real init_low = Real(-0.6), init_high = Real(-0.4);
  };

  struct State {
    Real position, velocity;
  };

  static EnvSpec spec() {
    return {.name = "MountainCar-v0",
            .observation = {{-1.2f, -0.07f}, {0.6f, 0.07f}},
            .action = ActionSpace::discrete(3),  // push left, none, push right
            .max_episode_steps = 200,
            .reward_threshold = -110};
  }

  SIM_HD static void reset(const Params& p, State& s, Rng& rng) {
    s.position = rng.uniform(p.init_low, p.init_high);
    s.velocity = Real(0);
  }

  SIM_HD static StepResult<Real> step(const Params& p, State& s, const Action* action, Rng&) {
    Real sin_slope, cos_slope;
    sin_cos(Real(3) * s.position, sin_slope, cos_slope);
    const Real push = static_cast<Real>(action[0] - 1) * p.force;
    const Real velocity = clamp(s.velocity + (push - cos_slope * p.gravity), -p.max_speed, p.max_speed);
    s.position = clamp(s.position + velocity, p.min_position, p.max_position);
    // the left wall stops the car
    const bool at_wall = s.position == p.min_position && velocity < Real(0);
    s.velocity = at_wall ? Real(0) : velocity;
    return {Real(-1), s.position >= p.goal_position && s.velocity >= p.goal_velocity};
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

static_assert(ThreadEnv<MountainCar<float>>);

}  // namespace hotloop
