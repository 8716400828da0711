// Ant-v5: a four-legged robot runs to the right. Facts: gymnasium/envs/mujoco/ant_v5.py.
#pragma once
#include "sim/tasks/runner.h"

namespace hotloop {

template <class R>
struct Ant {
  using Real = R;
  static constexpr const char *kName = "Ant-v5", *kModel = "ant.xml", *kType = "Ant", *kSource = "sim/tasks/ant.h";
  static constexpr int kNq = 15, kNv = 14, kNu = 8, kNbody = 14;
  static constexpr TaskCamera kCamera = {.track = 1, .distance = 4};
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 6000, kActionBound = 1;
  static constexpr unsigned kKeep = kKeepPosition | kKeepContact;
  static constexpr bool kForces = true;
  enum Term { kForward, kCtrl, kContact, kSurvive, kTerms };
  static constexpr const char* kTermNames[] = {"reward_forward", "reward_ctrl", "reward_contact", "reward_survive"};

  struct Options {
    int frame_skip = 5;
    R forward_reward_weight = R(1), ctrl_cost_weight = R(0.5), contact_cost_weight = R(5e-4), healthy_reward = R(1);
    BodyIndex main_body = {1};
    bool terminate_when_unhealthy = true;
    Range<R> healthy_z_range = {R(0.2), R(1)}, contact_force_range = {R(-1), R(1)};
    R reset_noise_scale = R(0.1);
    bool exclude_current_positions_from_observation = true, include_cfrc_ext_in_observation = true;
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_running(o, v, "weight of the main body's velocity along x");
    v("contact_cost_weight", o.contact_cost_weight, KeyRule{.help = "weight of the squared contact forces"});
    visit_healthy(o, v);
    v("main_body", o.main_body, KeyRule{.help = "body whose velocity counts, name or number"});
    v("contact_force_range", o.contact_force_range, KeyRule{.help = "contact forces are limited to it"});
    visit_start(o, v, "leave x and y out of the observation");
    v("include_cfrc_ext_in_observation", o.include_cfrc_ext_in_observation,
      KeyRule{.help = "contact forces are part of the observation"});
  }
#endif

  using Memory = RunnerMemory<R>;  // x: of the main body at the last evaluation of forces

  static constexpr int obs_dim(const Options& o) {
    return kNq + kNv - (o.exclude_current_positions_from_observation ? 2 : 0) +
           (o.include_cfrc_ext_in_observation ? 6 * (kNbody - 1) : 0);
  }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_normal(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W& w, const Options& o, Memory& memory) {
    memory.x = w.xpos()[3 * o.main_body.id];
  }

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory& memory, R* terms) {
    const R velocity = forward_velocity(m, o, w.xpos()[3 * o.main_body.id], memory);
    const R contact = g.template reduce<R>(m.nbody, [&](int b) {
      const Vec6<R> f = clamp(external_force(m, w, b), o.contact_force_range);
      return dot(f, f);
    });
    const R z = w.qpos()[2];
    const bool finite =
        !g.any(m.nq, [&](int i) { return !is_finite(w.qpos()[i]) || (i < m.nv && !is_finite(w.qvel()[i])); });
    const bool healthy = finite && o.healthy_z_range.low <= z && z <= o.healthy_z_range.high;
    terms[kForward] = o.forward_reward_weight * velocity;
    terms[kCtrl] = -o.ctrl_cost_weight * squared_actions(g, m, w);
    terms[kContact] = -o.contact_cost_weight * contact;
    terms[kSurvive] = healthy ? o.healthy_reward : R(0);
    return {terms[kForward] + terms[kSurvive] + terms[kCtrl] + terms[kContact], !healthy && o.terminate_when_unhealthy};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options& o, Put put) {
    int next = put_positions(g, m, w, 0, o.exclude_current_positions_from_observation ? 2 : 0, put);
    next = put_velocities(g, m, w, next, R(0), put);
    if (!o.include_cfrc_ext_in_observation) return;
    g.for_each(m.nbody - 1,
               [&](int b) { put6(next + 6 * b, clamp(external_force(m, w, b + 1), o.contact_force_range), put); });
  }
};

}  // namespace hotloop
