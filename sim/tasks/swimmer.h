// Swimmer-v5: three links swim in a viscous plane. Facts: gymnasium/envs/mujoco/swimmer_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct Swimmer {
  using Real = R;
  static constexpr const char *kName = "Swimmer-v5", *kModel = "swimmer.xml", *kType = "Swimmer",
                              *kSource = "sim/tasks/swimmer.h";
  static constexpr int kNq = 5, kNv = 5, kNu = 2, kNbody = 4;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 360, kActionBound = 1;
  static constexpr unsigned kKeep = 0;
  static constexpr bool kForces = false;
  enum Term { kForward, kCtrl, kTerms };
  static constexpr const char* kTermNames[] = {"reward_forward", "reward_ctrl"};

  struct Options {
    int frame_skip = 4;
    R forward_reward_weight = R(1), ctrl_cost_weight = R(1e-4), reset_noise_scale = R(0.1);
    bool exclude_current_positions_from_observation = true;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    v("frame_skip", o.frame_skip, KeyRule{.low = 1, .high = 1000, .help = "physics steps in one step"});
    v("forward_reward_weight", o.forward_reward_weight, KeyRule{.help = "weight of the velocity along x"});
    v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
    v("reset_noise_scale", o.reset_noise_scale, KeyRule{.low = 0, .high = 1e3, .help = "spread of the start states"});
    v("exclude_current_positions_from_observation", o.exclude_current_positions_from_observation,
      KeyRule{.help = "leave x and y out of the observation"});
  }
#endif

  struct Memory {
    R x;  // [m] before the step
  };

  static constexpr int obs_dim(const Options& o) {
    return kNq + kNv - (o.exclude_current_positions_from_observation ? 2 : 0);
  }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W& w, const Options&, Memory& memory) {
    memory.x = w.qpos()[0];
  }

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory& memory, R* terms) {
    const R velocity = (w.qpos()[0] - memory.x) / (m.timestep * R(o.frame_skip));
    memory.x = w.qpos()[0];
    terms[kForward] = o.forward_reward_weight * velocity;
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    return {terms[kForward] + terms[kCtrl], false};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options& o, Put put) {
    const int next = put_positions(g, m, w, 0, o.exclude_current_positions_from_observation ? 2 : 0, put);
    put_velocities(g, m, w, next, R(0), put);
  }
};

}  // namespace hotloop
