// Swimmer-v5: three links swim in a viscous plane. Facts: gymnasium/envs/mujoco/swimmer_v5.py.
#pragma once
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct Swimmer : Runner<R, Swimmer<R>> {
  static constexpr const char *kName = "Swimmer-v5", *kModel = "swimmer.xml", *kType = "Swimmer",
                              *kSource = "sim/tasks/swimmer.h";
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4, .elevation = -45};
  static constexpr int kNq = 5, kNv = 5, kNu = 2, kNbody = 4;
  static constexpr double kRewardThreshold = 360;
  static constexpr int kUnseen = 2, kVelocityBound = 0;
  static constexpr bool kNormalStart = false;
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
    visit_running(o, v);
    visit_start(o, v, "leave x and y out of the observation");
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
