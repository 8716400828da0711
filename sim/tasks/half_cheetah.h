// HalfCheetah-v5: a planar cheetah runs to the right. Facts: gymnasium/envs/mujoco/half_cheetah_v5.py.
#pragma once
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct HalfCheetah : Runner<R, HalfCheetah<R>> {
  static constexpr const char *kName = "HalfCheetah-v5", *kModel = "half_cheetah.xml", *kType = "HalfCheetah",
                              *kSource = "sim/tasks/half_cheetah.h";
  static constexpr int kNq = 9, kNv = 9, kNu = 6, kNbody = 8;
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4};
  static constexpr double kRewardThreshold = 4800;
  static constexpr int kUnseen = 1, kVelocityBound = 0;
  static constexpr bool kNormalStart = true;
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
    visit_running(o, v);
    visit_start(o, v);
  }
#endif

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, RunnerMemory<R>& memory,
                                     R* terms) {
    terms[kForward] = o.forward_reward_weight * forward_velocity(m, o, w.qpos()[0], memory);
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    return {terms[kForward] + terms[kCtrl], false};
  }
};

}  // namespace hotloop
