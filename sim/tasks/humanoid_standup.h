// HumanoidStandup-v5: a humanoid that lies on its back stands up. Facts: gymnasium/envs/mujoco/humanoidstandup_v5.py.
#pragma once
#include "sim/tasks/humanoid_observation.h"

namespace hotloop {

template <class R>
struct HumanoidStandup {
  using Real = R;
  static constexpr const char *kName = "HumanoidStandup-v5", *kModel = "humanoid_standup.xml",
                              *kType = "HumanoidStandup", *kSource = "sim/tasks/humanoid_standup.h";
  static constexpr int kNq = 24, kNv = 23, kNu = 17, kNbody = 14;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = kNoThreshold, kActionBound = 0.4;
  static constexpr unsigned kKeep = kHumanoidKeep;
  static constexpr bool kForces = true;
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
    v("frame_skip", o.frame_skip, KeyRule{.low = 1, .high = 1000, .help = "physics steps in one step"});
    v("uph_cost_weight", o.uph_cost_weight, KeyRule{.help = "without effect, as in Gymnasium"});
    v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
    v("impact_cost_weight", o.impact_cost_weight, KeyRule{.help = "weight of the squared contact forces"});
    v("impact_cost_range", o.impact_cost_range, KeyRule{.help = "the impact cost is limited to it"});
    v("reset_noise_scale", o.reset_noise_scale, KeyRule{.low = 0, .high = 1e3, .help = "spread of the start states"});
    visit_humanoid_parts(o.parts, v);
  }
#endif

  struct Memory {};

  static constexpr int obs_dim(const Options& o) { return humanoid_obs_dim<HumanoidStandup>(o.parts); }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory&, R* terms) {
    terms[kLinup] = w.qpos()[2] / m.timestep;
    terms[kQuadctrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kImpact] = -clamp(o.impact_cost_weight * squared_contact_forces(g, m, w), o.impact_cost_range);
    return {terms[kLinup] + terms[kQuadctrl] + terms[kImpact] + R(1), false};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options& o, Put put) {
    observe_humanoid(g, m, w, o.parts, put);
  }
};

}  // namespace hotloop
