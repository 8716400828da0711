// Corridor-v0: an environment outside the hotloop tree. Walk along a corridor; the door is at its right end.
#pragma once
#include "sim/core/env.h"

struct Corridor {
  using Real = float;
  using Action = int;  // 0: left, 1: right
  static constexpr int kObsDim = 1, kActionDim = 1;

  struct Params {
    float step = 0.1f;  // [m]
    float door = 1.0f;  // [m]
  };

  struct State {
    float x;  // [m]
  };

  static hotloop::EnvSpec spec() {
    return {.name = "Corridor-v0",
            .observation = {{-10.0f}, {10.0f}},
            .action = hotloop::ActionSpace::discrete(2),
            .max_episode_steps = 100};
  }

  SIM_HD static void reset(const Params& p, State& s, hotloop::Rng& rng) { s.x = rng.uniform(-p.door, 0.0f); }

  SIM_HD static hotloop::StepResult<float> step(const Params& p, State& s, const int* action, hotloop::Rng&) {
    s.x += action[0] == 1 ? p.step : -p.step;
    const bool out = s.x >= p.door;
    return {out ? 1.0f : -0.01f, out};
  }

  SIM_HD static void observe(const Params&, const State& s, float* obs) { obs[0] = s.x; }
};

static_assert(hotloop::ThreadEnv<Corridor>);
