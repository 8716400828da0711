// Hopper-v5: a planar one-legged robot hops to the right. Facts: gymnasium/envs/mujoco/hopper_v5.py.
#pragma once
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct Hopper : Runner<R, Hopper<R>> {
  static constexpr const char *kName = "Hopper-v5", *kModel = "hopper.xml", *kType = "Hopper",
                              *kSource = "sim/tasks/hopper.h";
  static constexpr int kNq = 6, kNv = 6, kNu = 3, kNbody = 5;
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 3};
  static constexpr double kRewardThreshold = 3800;
  static constexpr int kUnseen = 1, kVelocityBound = 10;
  static constexpr bool kNormalStart = false;
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
    visit_running(o, v);
    visit_healthy(o, v);
    v("healthy_state_range", o.healthy_state_range, KeyRule{.help = "values of qpos[2:] and qvel that are healthy"});
    v("healthy_angle_range", o.healthy_angle_range, KeyRule{.help = "angles of the torso that are healthy [rad]"});
    visit_start(o, v);
  }
#endif

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, RunnerMemory<R>& memory,
                                     R* terms) {
    const bool out = g.any(m.nq, [&](int i) {
      return (i >= 2 && !strictly_inside(w.qpos()[i], o.healthy_state_range)) ||
             !strictly_inside(w.qvel()[i], o.healthy_state_range);
    });
    const bool healthy =
        !out && strictly_inside(w.qpos()[1], o.healthy_z_range) && strictly_inside(w.qpos()[2], o.healthy_angle_range);
    terms[kForward] = o.forward_reward_weight * forward_velocity(m, o, w.qpos()[0], memory);
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl], !healthy && o.terminate_when_unhealthy};
  }
};

}  // namespace hotloop
