// Constants that derive from a world's masses, inertias and armatures, at qpos0: the part of mj_setConst that the step
// reads. Stages of the step do the work, over the same lane group.
#pragma once
#include "sim/mujoco/kinematics.h"
#include "sim/mujoco/linear_solve.h"
#include "sim/mujoco/velocity.h"

namespace hotloop {

// Rows of one world, as in Model.
template <class Real>
struct DerivedRows {
  Real *body_subtreemass, *body_invweight0, *dof_invweight0, *tendon_invweight0;
};

// Room for set_const alone: no constraints; poses and axes stay valid while M is inverted (world_layout.cpp).
WorldLayout set_const_layout(const ModelSizes& sizes);

// Velocity (rotation, translation) of body b's centre of mass for unit velocity of dof i.
template <class M, class W>
SIM_HD Vec6<typename M::Real> com_jacobian(const M& m, const W& w, int b, int i) {
  using Real = typename M::Real;
  const Vec6<Real> axis = load6(w.cdof() + 6 * i);
  const Vec3<Real> arm = load3(w.xipos() + 3 * b) - load3(w.root_com() + 3 * m.body_rootid[b]);
  return {axis.rot, axis.lin + cross(axis.rot, arm)};
}

// Mean translational and rotational inverse inertia of body b: traces of J inv(M) J' over three.
template <class M, class W>
SIM_HD Vec2<typename M::Real> body_invweight(const M& m, const W& w, const typename M::Real* inverse, int b) {
  using Real = typename M::Real;
  if (m.body_simple[b] == 2) return {Real(1) / maximum(kTiny<Real>(), m.body_mass.of(w.index)[b]), Real(0)};
  Vec2<Real> sum{Real(0), Real(0)};
#pragma unroll 1
  for (int i = m.body_lastdof[b]; i >= 0; i = m.dof_parentid[i]) {
    const Vec6<Real> a = com_jacobian(m, w, b, i);
#pragma unroll 1
    for (int k = m.body_lastdof[b]; k >= 0; k = m.dof_parentid[k]) {
      const Vec6<Real> c = com_jacobian(m, w, b, k);
      const Real entry = inverse[i * m.row + k];
      sum = sum + Vec2<Real>{entry * dot(a.lin, c.lin), entry * dot(a.rot, c.rot)};
    }
  }
  return {sum.x / Real(3), sum.y / Real(3)};
}

// dof_invweight0 of joint j's dofs: the mean over the three translations, and over the three rotations.
template <class M, class W>
SIM_HD void joint_invweight(const M& m, const W& w, const typename M::Real* inverse, int j, typename M::Real* out) {
  using Real = typename M::Real;
  const auto type = static_cast<JointType>(m.jnt_type[j]);
  const int dofs = type == JointType::free ? 6 : type == JointType::ball ? 3 : 1, each = dofs == 1 ? 1 : 3;
  const bool simple = m.body_simple[m.jnt_bodyid[j]] == 2;
#pragma unroll 1
  for (int i = m.jnt_dofadr[j]; i < m.jnt_dofadr[j] + dofs; i += each) {
    Real sum = 0;
    for (int k = i; k < i + each; ++k) sum += inverse[k * m.row + k];
    if (simple) sum = Real(1) / maximum(kTiny<Real>(), m.body_mass.of(w.index)[m.jnt_bodyid[j]]);
    for (int k = i; k < i + each; ++k) out[k] = sum / Real(each);
  }
}

template <class M>
SIM_HD typename M::Real tendon_invweight(const M& m, const typename M::Real* inverse, int t) {
  using Real = typename M::Real;
  const int begin = m.tendon_adr[t], end = begin + m.tendon_num[t];
  Real sum = 0;
#pragma unroll 1
  for (int i = begin; i < end; ++i)
#pragma unroll 1
    for (int k = begin; k < end; ++k)
      sum += m.wrap_coef[i] * m.wrap_coef[k] * inverse[m.wrap_dofid[i] * m.row + m.wrap_dofid[k]];
  return sum;
}

// w: laid out by set_const_layout. out: the world's rows of m's derived fields, which kinematics reads.
template <int N, class G, class M, class W>
SIM_HD void set_const(const G& g, const M& m, const W& w, const DerivedRows<typename M::Real>& out) {
  using Real = typename M::Real;
  const Real* mass = m.body_mass.of(w.index);
  g.for_each(m.nbody, [&](int b) { out.body_subtreemass[b] = mass[b]; });
  g.once([&] { subtree_sum(m, out.body_subtreemass, 1); });
  g.for_each(m.nq, [&](int i) { w.qpos()[i] = m.qpos0[i]; });
  g.for_each(m.nv, [&](int i) { w.qvel()[i] = 0; });
  kinematics(g, m, w);
  chain_velocities(g, m, w);
  bias_forces(g, m, w);  // for the composite inertias
  mass_matrix(g, m, w);
  invert<N>(g, m.nv, w.M(), m.row, w.solve_rows(), w.H());
  const Real* inverse = w.H();
  g.for_each(m.nbody, [&](int b) {
    const Vec2<Real> weight = body_invweight(m, w, inverse, b);
    out.body_invweight0[2 * b] = weight.x;
    out.body_invweight0[2 * b + 1] = weight.y;
  });
  g.for_each(m.njnt, [&](int j) { joint_invweight(m, w, inverse, j, out.dof_invweight0); });
  g.for_each(m.ntendon, [&](int t) { out.tendon_invweight0[t] = tendon_invweight(m, inverse, t); });
}

}  // namespace hotloop
