// The observation that Humanoid-v5 and HumanoidStandup-v5 share.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

inline constexpr unsigned kHumanoidKeep = kKeepCom | kKeepInertia | kKeepVelocity | kKeepForce | kKeepContact;

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

template <class T>
constexpr int humanoid_obs_dim(const HumanoidParts& p) {
  constexpr int kMoving = T::kNbody - 1;
  return T::kNq + T::kNv - (p.exclude_current_positions ? 2 : 0) + (p.cinert ? 10 * kMoving : 0) +
         (p.cvel ? 6 * kMoving : 0) + (p.qfrc_actuator ? T::kNv - 6 : 0) + (p.cfrc_ext ? 6 * kMoving : 0);
}

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

}  // namespace hotloop
