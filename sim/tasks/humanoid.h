// Humanoid-v5: a humanoid walks to the right. Facts: gymnasium/envs/mujoco/humanoid_v5.py.
#pragma once
#include "sim/tasks/humanoid_observation.h"

namespace hotloop {

template <class R>
struct Humanoid {
  using Real = R;
  static constexpr const char *kName = "Humanoid-v5", *kModel = "humanoid.xml", *kType = "Humanoid",
                              *kSource = "sim/tasks/humanoid.h";
  static constexpr int kNq = 24, kNv = 23, kNu = 17, kNbody = 14;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = kNoThreshold, kActionBound = 0.4;
  static constexpr unsigned kKeep = kHumanoidKeep;
  static constexpr bool kForces = true;
  enum Term { kSurvive, kForward, kCtrl, kContact, kTerms };
  static constexpr const char* kTermNames[] = {"reward_survive", "reward_forward", "reward_ctrl", "reward_contact"};

  struct Options {
    int frame_skip = 5;
    R forward_reward_weight = R(1.25), ctrl_cost_weight = R(0.1), contact_cost_weight = R(5e-7);
    Range<R> contact_cost_range = {-infinity<R>(), R(10)};
    R healthy_reward = R(5);
    bool terminate_when_unhealthy = true;
    Range<R> healthy_z_range = {R(1), R(2)};
    R reset_noise_scale = R(1e-2);
    HumanoidParts parts;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    v("frame_skip", o.frame_skip, KeyRule{.low = 1, .high = 1000, .help = "physics steps in one step"});
    v("forward_reward_weight", o.forward_reward_weight,
      KeyRule{.help = "weight of the velocity along x of the centre of mass"});
    v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
    v("contact_cost_weight", o.contact_cost_weight, KeyRule{.help = "weight of the squared contact forces"});
    v("contact_cost_range", o.contact_cost_range, KeyRule{.help = "the contact cost is limited to it"});
    v("healthy_reward", o.healthy_reward, KeyRule{.help = "reward of a step in a healthy state"});
    v("terminate_when_unhealthy", o.terminate_when_unhealthy, KeyRule{.help = "end the episode in an unhealthy state"});
    v("healthy_z_range", o.healthy_z_range, KeyRule{.help = "heights of the torso that are healthy [m]"});
    v("reset_noise_scale", o.reset_noise_scale, KeyRule{.low = 0, .high = 1e3, .help = "spread of the start states"});
    visit_humanoid_parts(o.parts, v);
  }
#endif

  struct Memory {
    R x;  // [m] of the centre of mass at the last evaluation of forces
  };

  static constexpr int obs_dim(const Options& o) { return humanoid_obs_dim<Humanoid>(o.parts); }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G& g, const M& m, const W& w, const Options&, Memory& memory) {
    memory.x = mass_centre(g, m, w).x;
  }

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory& memory, R* terms) {
    const R x = mass_centre(g, m, w).x;
    const R velocity = (x - memory.x) / (m.timestep * R(o.frame_skip));
    memory.x = x;
    const bool healthy = strictly_inside(w.qpos()[2], o.healthy_z_range);
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    terms[kForward] = o.forward_reward_weight * velocity;
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kContact] = -clamp(o.contact_cost_weight * squared_contact_forces(g, m, w), o.contact_cost_range);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl] + terms[kContact], !healthy && o.terminate_when_unhealthy};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options& o, Put put) {
    observe_humanoid(g, m, w, o.parts, put);
  }
};

}  // namespace hotloop
