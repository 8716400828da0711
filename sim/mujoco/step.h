// One physics step: mj_forward and the integrators (mj_Euler with implicit joint damping, mj_RungeKutta of order 4).
#pragma once
#include "sim/mujoco/collision.h"
#include "sim/mujoco/constraint.h"
#include "sim/mujoco/kinematics.h"
#include "sim/mujoco/newton.h"
#include "sim/mujoco/pgs.h"
#include "sim/mujoco/velocity.h"

namespace hotloop {

// From qpos, qvel, ctrl and qacc_warmstart to qacc. forces: also qfrc_constraint and the forces of the blocks.
template <int N, class G, class M, class W>
SIM_HD void forward(const G& g, const M& m, const W& w, bool forces) {
  kinematics(g, m, w);
  collision(g, m, w);
  smooth_forces(g, m, w);
  mass_matrix(g, m, w);
  constraints(g, m, w);
  if (m.pgs) {
    pgs<N>(g, m, w);
  } else {
    newton<N>(g, m, w, forces);
  }
}

// qpos = from advanced by dt * velocity; from may be qpos itself.
template <class G, class M, class W>
SIM_HD void advance_positions(const G& g, const M& m, const W& w, const typename M::Real* from,
                              const typename M::Real* velocity, typename M::Real dt) {
  using Real = typename M::Real;
  g.for_each(m.njnt, [&](int j) {
    const auto type = static_cast<JointType>(m.jnt_type[j]);
    int q = m.jnt_qposadr[j], v = m.jnt_dofadr[j];
    if (type == JointType::hinge || type == JointType::slide) {
      w.qpos()[q] = from[q] + dt * velocity[v];
      return;
    }
    if (type == JointType::free) {
      for (int k = 0; k < 3; ++k) w.qpos()[q + k] = from[q + k] + dt * velocity[v + k];
      q += 3;
      v += 3;
    }
    Real angle;
    const Vec3<Real> axis = normalized(load3(velocity + v), angle);
    store4(w.qpos() + q, normalized(load4(from + q)) * axis_angle(axis, dt * angle));
  });
}

// Semi-implicit Euler. With joint damping the velocity solves (M + dt D) a = all forces.
template <int N, class G, class M, class W>
SIM_HD void euler(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real dt = m.timestep;
  const Real* acceleration = w.qacc();
  if (m.implicit_damping) {
    // at the solution M qacc is the sum of all forces; PGS, which may stop before, has it in qfrc_constraint
    const bool sum = m.pgs;
    const auto damping = m.dof_damping.of(w.index);
    solve<N>(
        g, m.nv, w.H(), m.row + 4, w.solve_rows(),
        [&](int i, Real* h, Real& right) {
          const Real* row = w.M() + i * m.row;
          each_in_row<N>(row, m.row, [&](int j, Real value) { h[j] = value + (j == i ? dt * damping[i] : Real(0)); });
          right = sum ? w.qfrc_smooth()[i] + w.qfrc_constraint()[i] : w.Ma()[i];
        },
        w.search());
    acceleration = w.search();
  }
  g.for_each(m.nv, [&](int i) {
    w.qvel()[i] += dt * acceleration[i];
    w.qacc_warmstart()[i] = w.qacc()[i];
  });
  advance_positions(g, m, w, w.qpos(), w.qvel(), dt);
}

// The rotational velocity w of a stage that lies a rotation `turn` away from the step's start, as seen from there: the
// inverse of the exponential map's derivative, w + turn x w / 2 + (1 - angle/2 cot(angle/2)) axis x (axis x w). A turn
// of more than pi is the shorter one the other way round.
template <class Real>
SIM_HD Vec3<Real> transported(const Vec3<Real>& turn, const Vec3<Real>& w) {
  Real angle, sine, cosine;
  const Vec3<Real> axis = normalized(turn, angle);
  const Real half = Real(0.5) * wrap_angle(angle);
  sin_cos(half, sine, cosine);
  const Vec3<Real> once = cross(axis, w);
  return w + half * once + (half == Real(0) ? Real(0) : Real(1) - half * cosine / sine) * cross(axis, once);
}

// Stage `stage` of classical Runge-Kutta (weights 1/6, 1/3, 1/3, 1/6), just evaluated: moves on to the next stage's
// state, or after the last to the end of the step.
template <class G, class M, class W>
SIM_HD void runge_kutta_stage(const G& g, const M& m, const W& w, int stage) {
  using Real = typename M::Real;
  const Real h = m.timestep;
  if (stage == 0) {
    g.for_each(m.nq, [&](int i) { w.rk_qpos()[i] = w.qpos()[i]; });
    g.for_each(m.nv, [&](int i) {
      w.rk_qvel()[i] = w.qvel()[i];
      w.rk_dqpos()[i] = w.rk_dqvel()[i] = w.rk_stage()[i] = 0;
    });
  }
  const Real weight = stage == 0 || stage == 3 ? Real(1.0 / 6) : Real(1.0 / 3);
  const Real before = stage == 3 ? h : stage == 0 ? Real(0) : Real(0.5) * h;  // from the start to this stage
  const Real after = stage < 2 ? Real(0.5) * h : h;                           // from the start to the next
  // the stage's velocity: rk_stage holds the one that led to it
  g.for_each(m.nquat, [&](int k) {
    const int j = m.quat_jntid[k];
    const int v = m.jnt_dofadr[j] + (static_cast<JointType>(m.jnt_type[j]) == JointType::free ? 3 : 0);
    store3(w.rk_stage() + v, transported(before * load3(w.rk_stage() + v), load3(w.qvel() + v)));
  });
  g.for_each(m.nv, [&](int i) {
    const int j = m.dof_jntid[i];
    const auto type = static_cast<JointType>(m.jnt_type[j]);
    const bool turns = type == JointType::ball || (type == JointType::free && i >= m.jnt_dofadr[j] + 3);
    if (!turns) w.rk_stage()[i] = w.qvel()[i];
    w.rk_dqpos()[i] += weight * w.rk_stage()[i];
    w.rk_dqvel()[i] += weight * w.qacc()[i];
    w.qvel()[i] = w.rk_qvel()[i] + (stage < 3 ? after * w.qacc()[i] : h * w.rk_dqvel()[i]);
    // Newton's solution does not depend on its start, so it starts from the stage before; PGS stops early and does
    if (stage == 3 || !m.pgs) w.qacc_warmstart()[i] = w.qacc()[i];
  });
  advance_positions(g, m, w, w.rk_qpos(), stage < 3 ? w.rk_stage() : w.rk_dqpos(), after);
}

// Evaluations of the forces in one step.
template <class M>
SIM_HD int stages_of(const M& m) {
  return m.rk4 ? 4 : 1;
}

// Moves on after evaluation `stage` of a step; whether that ends the step.
template <int N, class G, class M, class W>
SIM_HD bool advance(const G& g, const M& m, const W& w, int stage) {
  if (m.rk4) {
    runge_kutta_stage(g, m, w, stage);
    return stage == 3;
  }
  euler<N>(g, m, w);
  return true;
}

// A world whose state is no longer finite (or beyond 1e10, MuJoCo's bound) sets kNonfinite.
template <class G, class M, class W>
SIM_HD void check_state(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const bool bad = g.any(m.nq, [&](int i) {
    return !(absolute(w.qpos()[i]) < Real(1e10)) || (i < m.nv && !(absolute(w.qvel()[i]) < Real(1e10))) ||
           (i < m.nv && !(absolute(w.qacc()[i]) < Real(1e10)));
  });
  if (bad) g.once([&] { w.counts()[kStatus] |= kNonfinite; });
}

// Integrates after evaluation `stage` of a step.
template <int N, class G, class M, class W>
SIM_HD void integrate(const G& g, const M& m, const W& w, int stage) {
  if (advance<N>(g, m, w, stage)) check_state(g, m, w);
}

// One step of m.timestep. forces: as for forward, of the step's last evaluation.
template <int N, class G, class M, class W>
SIM_HD void physics_step(const G& g, const M& m, const W& w, bool forces) {
  const int stages = stages_of(m);
  for (int stage = 0; stage < stages; ++stage) {
    forward<N>(g, m, w, forces && stage == stages - 1);
    integrate<N>(g, m, w, stage);
  }
}

}  // namespace hotloop
