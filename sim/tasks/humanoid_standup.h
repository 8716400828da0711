// HumanoidStandup-v5: a humanoid that lies on its back stands up. Facts: gymnasium/envs/mujoco/humanoidstandup_v5.py.
#pragma once
#include "sim/tasks/humanoid_body.h"

namespace hotloop {

template <class R>
struct HumanoidStandup : HumanoidBody<R> {
  static constexpr const char *kName = "HumanoidStandup-v5", *kModel = "humanoid_standup.xml",
                              *kType = "HumanoidStandup", *kSource = "sim/tasks/humanoid_standup.h";
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4};
  enum Term { kLinup, kQuadctrl, kImpact, kTerms };
  static constexpr const char* kTermNames[] = {"reward_linup", "reward_quadctrl", "reward_impact"};

  struct Options {
    int frame_skip = 5;
    R uph_cost_weight = R(1);  // Gymnasium takes it and never uses it; so do we
    R ctrl_cost_weight = R(0.1), impact_cost_weight = R(0.5e-6);
    Range<R> impact_cost_range = {-infinity<R>(), R(10)};
    R reset_noise_scale = R(1e-2);
    HumanoidParts parts;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_frame_skip(o, v);
    v("uph_cost_weight", o.uph_cost_weight, KeyRule{.help = "without effect, as in Gymnasium"});
    v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
    v("impact_cost_weight", o.impact_cost_weight, KeyRule{.help = "weight of the squared contact forces"});
    v("impact_cost_range", o.impact_cost_range, KeyRule{.help = "the impact cost is limited to it"});
    visit_reset_noise(o, v);
    visit_humanoid_parts(o.parts, v);
  }
#endif

  struct Memory {};

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory&, R* terms) {
    terms[kLinup] = w.qpos()[2] / m.timestep;
    terms[kQuadctrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kImpact] = -clamp(o.impact_cost_weight * squared_contact_forces(g, m, w), o.impact_cost_range);
    return {terms[kLinup] + terms[kQuadctrl] + terms[kImpact] + R(1), false};
  }
};

}  // namespace hotloop
