// What the headers of tasks on MuJoCo models share. A task is a struct of pure static functions over a lane group, a
// model and the working set of one world; sim/tasks/task_batch.h runs it. Tasks that are alike inherit what they share
// (runner.h, humanoid_body.h). Facts of a task (Gymnasium's v5 tasks,
// gymnasium/envs/mujoco) are its constants and its Options, one member for each option of Gymnasium's constructor.
//
// - kName, kModel: the task's name, its model in assets/mjcf.
// - kType, kSource: this struct's name and header, for kernels compiled at run time.
// - kNq, kNv, kNu, kNbody: sizes of the model, checked when it is loaded.
// - kActionBound: actions are in [-kActionBound, kActionBound], the model's ctrlrange.
// - kKeep, kForces: quantities that it reads after the step (Keep bits); whether constraint forces are among them.
// - Term, kTermNames: the terms of its reward, named as in Gymnasium's info.
// - Memory: numbers of a world that one step hands to the next.
// - obs_dim(options).
// - reset(...): draws qpos and qvel; ctrl and qacc_warmstart are zero.
// - begin(...): after the evaluation of a reset state, fills the memory.
// - result(...): after a step, reward, terms, termination; every lane returns the same.
// - observe(...): calls put(i, value) once for each component of the observation.
// - kCamera: optional, where viewers look from at first.
// - visit_options(...): the one list of options: names, members, what they take (host only).
//
// Gymnasium observes and rewards what MuJoCo's data holds after mj_step: qpos and qvel are new, everything else is of
// the last evaluation of forces inside the step. So it is here.
#pragma once
#include "sim/core/rng.h"
#include "sim/mujoco/spatial.h"
#include "sim/mujoco/tap.h"
#include "sim/mujoco/velocity.h"
#include "sim/mujoco/world.h"
#ifndef __CUDACC_RTC__
#include "sim/core/value.h"
#endif

namespace hotloop {

template <class Real>
struct TaskResult {
  Real reward;
  bool terminated;
};

template <class Real>
struct Range {
  Real low, high;
};
template <class Real>
SIM_HD Real clamp(Real x, const Range<Real>& range) {
  return clamp(x, range.low, range.high);
}
template <class Real>
SIM_HD bool strictly_inside(Real x, const Range<Real>& range) {
  return range.low < x && x < range.high;
}

template <class Real>
constexpr Real infinity() {
  return static_cast<Real>(__builtin_huge_valf());
}
// Of tasks that name no reward at which they count as solved.
#ifndef __CUDACC_RTC__
inline constexpr double kNoThreshold = __builtin_nan("");
#else
inline constexpr double kNoThreshold = 0;  // nobody asks there, and the compiler has no NaN constant
#endif

// From in front of the model (along y) and somewhat above.
struct TaskCamera {
  int track = 0;           // the body that it follows; 0: none, it looks at the model's centre
  double distance = 0;     // [m]; 0: as far as the model is large
  double elevation = -20;  // [deg]
};

// A body of the model, given by number or by name.
struct BodyIndex {
  int id;
};

// ---- options that many tasks have: members of o by their own names -------------------------------------------------

#ifndef __CUDACC_RTC__
template <class O, class Visitor>
void visit_frame_skip(O& o, Visitor&& v) {
  v("frame_skip", o.frame_skip, KeyRule{.low = 1, .high = 1000, .help = "physics steps in one step"});
}
template <class O, class Visitor>
void visit_reset_noise(O& o, Visitor&& v) {
  v("reset_noise_scale", o.reset_noise_scale, KeyRule{.low = 0, .high = 1e3, .help = "spread of the start states"});
}
#endif

// ---- resets --------------------------------------------------------------------------------------------------------

// value(i, rng) for each i in [0, n): every component draws from a block of numbers of its own, so that lanes draw at
// the same time. block: first block.
template <class G, class Value>
SIM_HD void draw_each(const G& g, int n, const Rng& rng, std::uint32_t block, Value value) {
  g.for_each(n, [&](int i) {
    Rng own = rng.at_block(block + static_cast<std::uint32_t>(i));
    value(i, own);
  });
}

// qpos0 + U(-scale, scale).
template <class G, class M, class W>
SIM_HD void reset_positions(const G& g, const M& m, const W& w, const Rng& rng, typename M::Real scale) {
  draw_each(g, m.nq, rng, 0, [&](int i, Rng& own) { w.qpos()[i] = m.qpos0[i] + own.uniform(-scale, scale); });
}
// U(-scale, scale).
template <class G, class M, class W>
SIM_HD void reset_velocities_uniform(const G& g, const M& m, const W& w, const Rng& rng, typename M::Real scale) {
  draw_each(g, m.nv, rng, 1000, [&](int i, Rng& own) { w.qvel()[i] = own.uniform(-scale, scale); });
}
// scale * N.
template <class G, class M, class W>
SIM_HD void reset_velocities_normal(const G& g, const M& m, const W& w, const Rng& rng, typename M::Real scale) {
  using Real = typename M::Real;
  draw_each(g, m.nv, rng, 1000, [&](int i, Rng& own) { w.qvel()[i] = scale * static_cast<Real>(own.normal()); });
}

// ---- quantities ----------------------------------------------------------------------------------------------------

// Sum of the squared actions, as given: MuJoCo limits them, costs do not.
template <class G, class M, class W>
SIM_HD typename M::Real squared_actions(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real sum = g.template reduce<Real>(m.nu, [&](int i) { return w.ctrl()[i] * w.ctrl()[i]; });
  return sum;
}

// put(at + i - skip, qpos[i]) for i from skip on; returns the next free index.
template <class G, class M, class W, class Put>
SIM_HD int put_positions(const G& g, const M& m, const W& w, int at, int skip, Put put) {
  g.for_each(m.nq - skip, [&](int i) { put(at + i, w.qpos()[skip + i]); });
  return at + m.nq - skip;
}
// Velocities, limited to +-bound where bound > 0.
template <class G, class M, class W, class Put>
SIM_HD int put_velocities(const G& g, const M& m, const W& w, int at, typename M::Real bound, Put put) {
  using Real = typename M::Real;
  g.for_each(m.nv, [&](int i) {
    const Real v = w.qvel()[i];
    put(at + i, bound > Real(0) ? clamp(v, -bound, bound) : v);
  });
  return at + m.nv;
}

template <class W>
SIM_HD Vec3<typename W::Real> body_position(const W& w, int b) {
  return load3(w.xpos() + 3 * b);
}
template <class M, class W>
SIM_HD Vec3<typename M::Real> site_position(const M& m, const W& w, int site) {
  const int b = m.site_bodyid[site];
  return load3(w.xpos() + 3 * b) + rotate(load4(w.xquat() + 4 * b), load3(m.site_pos + 3 * site));
}
// Centre of mass of all bodies.
template <class G, class M, class W>
SIM_HD Vec3<typename M::Real> mass_centre(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real* mass = m.body_mass.of(w.index);
  const Real total = g.template reduce<Real>(m.nbody, [&](int b) { return mass[b]; });
  const Vec3<Real> moment =
      g.template reduce<Vec3<Real>>(m.nbody, [&](int b) { return mass[b] * load3(w.xipos() + 3 * b); });
  return (Real(1) / total) * moment;
}

// MuJoCo's cfrc_ext of body b (mj_rnePostConstraint): the contact forces on it and those from outside, about the centre
// of mass of its tree.
template <class M, class W>
SIM_HD Vec6<typename M::Real> external_force(const M& m, const W& w, int b) {
  using Real = typename M::Real;
  Vec6<Real> sum = zero6<Real>();
  if (b == 0) return sum;
  const Vec3<Real> centre = load3(w.root_com() + 3 * m.body_rootid[b]);
  if (m.xfrc_applied.stride != 0) sum = applied_force(m, w, b);
  for (int c = 0; c < w.counts()[kContacts]; ++c) {
    const int pair = w.con_pair()[c];
    const int sign =
        (m.geom_bodyid[m.pair_geom2[pair]] == b ? 1 : 0) - (m.geom_bodyid[m.pair_geom1[pair]] == b ? 1 : 0);
    if (sign == 0) continue;
    const Vec3<Real> force = Real(sign) * contact_force(m, w, c);
    sum = sum + Vec6<Real>{cross(load3(w.contact() + kContactStride * c) - centre, force), force};
  }
  return sum;
}

template <class Real, class Put>
SIM_HD void put6(int at, const Vec6<Real>& v, Put put) {
  put(at, v.rot.x);
  put(at + 1, v.rot.y);
  put(at + 2, v.rot.z);
  put(at + 3, v.lin.x);
  put(at + 4, v.lin.y);
  put(at + 5, v.lin.z);
}

template <class Real>
SIM_HD Vec6<Real> clamp(const Vec6<Real>& v, const Range<Real>& r) {
  return {{clamp(v.rot.x, r), clamp(v.rot.y, r), clamp(v.rot.z, r)},
          {clamp(v.lin.x, r), clamp(v.lin.y, r), clamp(v.lin.z, r)}};
}

}  // namespace hotloop
