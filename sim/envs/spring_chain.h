// SpringChain-v0: eight masses on a line, coupled by springs; two discrete actuators push the ends, some pushes locked
// while the chain is stretched. A small test task that exercises what the classic ones do not: a group of lanes a
// world, multi-discrete actions and action masks. Physics: m q'' = k (q[i-1] - 2 q[i] + q[i+1]) - c q' + u,
// semi-implicit Euler.
#pragma once
#include "sim/core/env.h"

namespace hotloop {

template <class R>
struct SpringChain {
  using Real = R;
  using Action = int;
  static constexpr int kLanes = 8, kMasses = 8;
  static constexpr int kObsDim = 2 * kMasses, kActionDim = 2, kNumChoices = 5;
  static constexpr int kFrames = 1 + kMasses;

  struct Params {
    Real stiffness = Real(20);  // [N/m]
    Real damping = Real(0.3);   // [N s/m]
    Real mass = Real(1);        // [kg]
    Real force = Real(2);       // [N]
    Real dt = Real(0.02);       // [s]
    Real limit = Real(3);       // [m] a mass beyond it ends the episode
    Real init_range = Real(0.5);
  };
  struct State {
    Real q[kMasses], v[kMasses];  // [m], [m/s]
  };
  struct Scratch {
    Real force[kMasses], lanes[kLanes];
  };

  static EnvSpec spec() {
    const std::vector<float> high(kObsDim, std::numeric_limits<float>::infinity());
    const std::vector<float> low(kObsDim, -std::numeric_limits<float>::infinity());
    return {.name = "SpringChain-v0",
            .observation = {low, high},
            .action = ActionSpace::multi_discrete({3, 2}),  // left end: pull, rest, push; right end: rest, push
            .max_episode_steps = 200,
            .control_period = 0.02};
  }

  template <class G>
  SIM_HD static void reset(const G& group, const Params& p, State& s, Rng& rng, Scratch&) {
    group.once([&] {
      for (int i = 0; i < kMasses; ++i) {
        s.q[i] = rng.uniform(-p.init_range, p.init_range);
        s.v[i] = rng.uniform(-p.init_range, p.init_range);
      }
    });
  }

  template <class G>
  SIM_HD static StepResult<Real> step(const G& group, const Params& p, State& s, const Action* action, Rng&,
                                      Scratch& scratch) {
    group.for_each(kMasses, [&](int i) {
      const Real left = i > 0 ? s.q[i - 1] : Real(0);
      const Real right = i + 1 < kMasses ? s.q[i + 1] : Real(0);
      Real f = p.stiffness * (left - Real(2) * s.q[i] + right) - p.damping * s.v[i];
      if (i == 0) f += p.force * Real(action[0] - 1);
      if (i == kMasses - 1) f += p.force * Real(action[1]);
      scratch.force[i] = f;
    });
    group.for_each(kMasses, [&](int i) {
      s.v[i] += p.dt * scratch.force[i] / p.mass;
      s.q[i] += p.dt * s.v[i];
    });
    const Real energy = group.sum(kMasses, scratch.lanes, [&](int i) { return s.q[i] * s.q[i]; });
    const Real far =
        group.sum(kMasses, scratch.lanes, [&](int i) { return Real(s.q[i] > p.limit || s.q[i] < -p.limit); });
    return {-energy / Real(kMasses), far > Real(0)};
  }

  template <class G>
  SIM_HD static void observe(const G& group, const Params&, const State& s, Real* obs, Scratch&) {
    group.for_each(kMasses, [&](int i) {
      obs[i] = s.q[i];
      obs[kMasses + i] = s.v[i];
    });
  }

  // An end that is already pushed out may not be pushed farther.
  SIM_HD static void action_mask(const Params&, const State& s, std::uint8_t* mask) {
    mask[0] = s.q[0] > Real(-0.3);
    mask[1] = 1;
    mask[2] = s.q[0] < Real(0.3);
    mask[3] = 1;
    mask[4] = s.q[kMasses - 1] < Real(0.3);
  }

  // Each mass as a bead on a wire of its own: how far it is up is how far it is out.
  template <class Shapes>
  static void visual(const Params& p, Shapes& shapes) {
    const float limit = static_cast<float>(p.limit);
    for (int i = 0; i < kMasses; ++i) {
      const int mass = shapes.frame("mass");
      const float x = bead(i);
      shapes.cylinder(0, {x, 0, -limit}, {x, 0, limit}, 0.03f, {0.4f, 0.4f, 0.4f});
      shapes.sphere(mass, {0, 0, 0}, 0.25f, {0.2f, 0.4f, 0.75f});
    }
    shapes.look_at({0, 0, 0}, 4, 10, -8);
  }
  SIM_HD static void frames(const Params&, const State& s, Frame* out) {
    for (int i = 0; i < kMasses; ++i) {
      out[1 + i].pos[0] = bead(i);
      out[1 + i].pos[2] = static_cast<float>(s.q[i]);
    }
  }
  SIM_HD static float bead(int i) { return static_cast<float>(i) - 0.5f * (kMasses - 1); }
};

static_assert(LaneEnv<SpringChain<float>>);

}  // namespace hotloop
