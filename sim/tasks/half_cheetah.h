// HalfCheetah-v5: a planar cheetah runs to the right. Facts: gymnasium/envs/mujoco/half_cheetah_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct HalfCheetah {
  using Real = R;
  static constexpr const char *kName = "HalfCheetah-v5", *kModel = "half_cheetah.xml", *kType = "HalfCheetah",
                              *kSource = "sim/tasks/half_cheetah.h";
  static constexpr int kNq = 9, kNv = 9, kNu = 6, kNbody = 8;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 4800, kActionBound = 1;
  static constexpr unsigned kKeep = 0;
  static constexpr bool kForces = false;
  enum Term { kForward, kCtrl, kTerms };
  static constexpr const char* kTermNames[] = {"reward_forward", "reward_ctrl"};

  struct Options {
    int frame_skip = 5;
    R forward_reward_weight = R(1), ctrl_cost_weight = R(0.1), reset_noise_scale = R(0.1);
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
      KeyRule{.help = "leave x out of the observation"});
  }
#endif

  struct Memory {
    R x;  // [m] before the step
  };

  static constexpr int obs_dim(const Options& o) {
    return kNq + kNv - (o.exclude_current_positions_from_observation ? 1 : 0);
  }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_normal(g, m, w, rng, o.reset_noise_scale);
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
    const int next = put_positions(g, m, w, 0, o.exclude_current_positions_from_observation ? 1 : 0, put);
    put_velocities(g, m, w, next, R(0), put);
  }
};

}  // namespace hotloop
