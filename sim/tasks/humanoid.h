// Humanoid-v5: a humanoid walks to the right. Facts: gymnasium/envs/mujoco/humanoid_v5.py.
#pragma once
#include "sim/tasks/humanoid_body.h"
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct Humanoid : HumanoidBody<R> {
  static constexpr const char *kName = "Humanoid-v5", *kModel = "humanoid.xml", *kType = "Humanoid",
                              *kSource = "sim/tasks/humanoid.h";
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4};
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
    visit_running(o, v, "weight of the velocity along x of the centre of mass");
    v("contact_cost_weight", o.contact_cost_weight, KeyRule{.help = "weight of the squared contact forces"});
    v("contact_cost_range", o.contact_cost_range, KeyRule{.help = "the contact cost is limited to it"});
    visit_healthy(o, v);
    visit_reset_noise(o, v);
    visit_humanoid_parts(o.parts, v);
  }
#endif

  using Memory = RunnerMemory<R>;  // x: of the centre of mass at the last evaluation of forces

  template <class G, class M, class W>
  SIM_HD static void begin(const G& g, const M& m, const W& w, const Options&, Memory& memory) {
    memory.x = mass_centre(g, m, w).x;
  }

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory& memory, R* terms) {
    const R velocity = forward_velocity(m, o, mass_centre(g, m, w).x, memory);
    const bool healthy = strictly_inside(w.qpos()[2], o.healthy_z_range);
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    terms[kForward] = o.forward_reward_weight * velocity;
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kContact] = -clamp(o.contact_cost_weight * squared_contact_forces(g, m, w), o.contact_cost_range);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl] + terms[kContact], !healthy && o.terminate_when_unhealthy};
  }
};

}  // namespace hotloop
