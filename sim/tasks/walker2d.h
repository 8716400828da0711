// Walker2d-v5: a planar two-legged robot walks to the right. Facts: gymnasium/envs/mujoco/walker2d_v5.py.
#pragma once
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct Walker2d : Runner<R, Walker2d<R>> {
  static constexpr const char *kName = "Walker2d-v5", *kModel = "walker2d.xml", *kType = "Walker2d",
                              *kSource = "sim/tasks/walker2d.h";
  static constexpr int kNq = 9, kNv = 9, kNu = 6, kNbody = 8;
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4};
  static constexpr double kRewardThreshold = kNoThreshold;
  static constexpr int kUnseen = 1, kVelocityBound = 10;
  static constexpr bool kNormalStart = false;
  enum Term { kForward, kCtrl, kSurvive, kTerms };
  static constexpr const char* kTermNames[] = {"reward_forward", "reward_ctrl", "reward_survive"};

  struct Options {
    int frame_skip = 4;
    R forward_reward_weight = R(1), ctrl_cost_weight = R(1e-3), healthy_reward = R(1);
    bool terminate_when_unhealthy = true;
    Range<R> healthy_z_range = {R(0.8), R(2)}, healthy_angle_range = {R(-1), R(1)};
    R reset_noise_scale = R(5e-3);
    bool exclude_current_positions_from_observation = true;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_running(o, v);
    visit_healthy(o, v);
    v("healthy_angle_range", o.healthy_angle_range, KeyRule{.help = "angles of the torso that are healthy [rad]"});
    visit_start(o, v);
  }
#endif

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, RunnerMemory<R>& memory,
                                     R* terms) {
    const bool healthy =
        strictly_inside(w.qpos()[1], o.healthy_z_range) && strictly_inside(w.qpos()[2], o.healthy_angle_range);
    terms[kForward] = o.forward_reward_weight * forward_velocity(m, o, w.qpos()[0], memory);
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl], !healthy && o.terminate_when_unhealthy};
  }
};

}  // namespace hotloop
