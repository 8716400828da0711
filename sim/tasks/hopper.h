// Hopper-v5: a planar one-legged robot hops to the right. Facts: gymnasium/envs/mujoco/hopper_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct Hopper {
  using Real = R;
  static constexpr const char *kName = "Hopper-v5", *kModel = "hopper.xml", *kType = "Hopper",
                              *kSource = "sim/tasks/hopper.h";
  static constexpr int kNq = 6, kNv = 6, kNu = 3, kNbody = 5;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 3800, kActionBound = 1;
  static constexpr unsigned kKeep = 0;
  static constexpr bool kForces = false;
  enum Term { kForward, kCtrl, kSurvive, kTerms };
  static constexpr const char* kTermNames[] = {"reward_forward", "reward_ctrl", "reward_survive"};

  struct Options {
    int frame_skip = 4;
    R forward_reward_weight = R(1), ctrl_cost_weight = R(1e-3), healthy_reward = R(1);
    bool terminate_when_unhealthy = true;
    Range<R> healthy_state_range = {R(-100), R(100)}, healthy_z_range = {R(0.7), infinity<R>()};
    Range<R> healthy_angle_range = {R(-0.2), R(0.2)};
    R reset_noise_scale = R(5e-3);
    bool exclude_current_positions_from_observation = true;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    v("frame_skip", o.frame_skip, KeyRule{.low = 1, .high = 1000, .help = "physics steps in one step"});
    v("forward_reward_weight", o.forward_reward_weight, KeyRule{.help = "weight of the velocity along x"});
    v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
    v("healthy_reward", o.healthy_reward, KeyRule{.help = "reward of a step in a healthy state"});
    v("terminate_when_unhealthy", o.terminate_when_unhealthy, KeyRule{.help = "end the episode in an unhealthy state"});
    v("healthy_state_range", o.healthy_state_range, KeyRule{.help = "values of qpos[2:] and qvel that are healthy"});
    v("healthy_z_range", o.healthy_z_range, KeyRule{.help = "heights of the torso that are healthy [m]"});
    v("healthy_angle_range", o.healthy_angle_range, KeyRule{.help = "angles of the torso that are healthy [rad]"});
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
    const bool out = g.any(m.nq, [&](int i) {
      return (i >= 2 && !strictly_inside(w.qpos()[i], o.healthy_state_range)) ||
             !strictly_inside(w.qvel()[i], o.healthy_state_range);
    });
    const bool healthy =
        !out && strictly_inside(w.qpos()[1], o.healthy_z_range) && strictly_inside(w.qpos()[2], o.healthy_angle_range);
    terms[kForward] = o.forward_reward_weight * velocity;
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl], !healthy && o.terminate_when_unhealthy};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options& o, Put put) {
    const int next = put_positions(g, m, w, 0, o.exclude_current_positions_from_observation ? 1 : 0, put);
    put_velocities(g, m, w, next, R(10), put);
  }
};

}  // namespace hotloop
