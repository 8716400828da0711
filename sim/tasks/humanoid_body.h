// What Humanoid-v5 and HumanoidStandup-v5 share: the body, the start states, the observation.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

struct HumanoidParts {
  bool exclude_current_positions = true, cinert = true, cvel = true, qfrc_actuator = true, cfrc_ext = true;
};
#ifndef __CUDACC_RTC__
template <class Visitor>
void visit_humanoid_parts(HumanoidParts& p, Visitor&& v) {
  v("exclude_current_positions_from_observation", p.exclude_current_positions,
    KeyRule{.help = "leave x and y out of the observation"});
  v("include_cinert_in_observation", p.cinert, KeyRule{.help = "inertias of the bodies are part of the observation"});
  v("include_cvel_in_observation", p.cvel, KeyRule{.help = "velocities of the bodies are part of the observation"});
  v("include_qfrc_actuator_in_observation", p.qfrc_actuator,
    KeyRule{.help = "actuator forces are part of the observation"});
  v("include_cfrc_ext_in_observation", p.cfrc_ext, KeyRule{.help = "contact forces are part of the observation"});
}
#endif

// Sum of the squares of all contact forces and torques.
template <class G, class M, class W>
SIM_HD typename M::Real squared_contact_forces(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  return g.template reduce<Real>(m.nbody, [&](int b) {
    const Vec6<Real> f = external_force(m, w, b);
    return dot(f, f);
  });
}

template <class G, class M, class W, class Put>
SIM_HD void observe_humanoid(const G& g, const M& m, const W& w, const HumanoidParts& p, Put put) {
  using Real = typename M::Real;
  const int moving = m.nbody - 1;
  int next = put_positions(g, m, w, 0, p.exclude_current_positions ? 2 : 0, put);
  next = put_velocities(g, m, w, next, Real(0), put);
  if (p.cinert) {
    g.for_each(10 * moving, [&](int i) { put(next + i, w.cinert()[10 + i]); });
    next += 10 * moving;
  }
  if (p.cvel) {
    g.for_each(moving, [&](int b) { put6(next + 6 * b, body_velocity(m, w, b + 1), put); });
    next += 6 * moving;
  }
  if (p.qfrc_actuator) {
    g.for_each(m.nv - 6, [&](int i) { put(next + i, w.qfrc_actuator()[6 + i]); });
    next += m.nv - 6;
  }
  if (p.cfrc_ext) g.for_each(moving, [&](int b) { put6(next + 6 * b, external_force(m, w, b + 1), put); });
}

template <class R>
struct HumanoidBody {
  using Real = R;
  static constexpr int kNq = 24, kNv = 23, kNu = 17, kNbody = 14;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = kNoThreshold, kActionBound = 0.4;
  static constexpr unsigned kKeep = kKeepCom | kKeepInertia | kKeepVelocity | kKeepForce | kKeepContact;
  static constexpr bool kForces = true;

  template <class O>
  static constexpr int obs_dim(const O& o) {
    constexpr int kMoving = kNbody - 1;
    const HumanoidParts& p = o.parts;
    return kNq + kNv - (p.exclude_current_positions ? 2 : 0) + (p.cinert ? 10 * kMoving : 0) +
           (p.cvel ? 6 * kMoving : 0) + (p.qfrc_actuator ? kNv - 6 : 0) + (p.cfrc_ext ? 6 * kMoving : 0);
  }

  template <class G, class M, class W, class O>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const O& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W, class O, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const O& o, Put put) {
    observe_humanoid(g, m, w, o.parts, put);
  }
};

}  // namespace hotloop
