// Poses of bodies and geoms, centres of mass, inertias and dof axes about the centre of mass of the tree:
// mj_kinematics, mj_comPos and the lengths of mj_tendon.
#pragma once
#include "sim/mujoco/spatial.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// Pose of body b relative to its parent at the joints' positions. Writes the anchors and axes of its joints in the
// parent's frame.
template <class M, class W>
SIM_HD Pose<typename M::Real> joint_pose(const M& m, const W& w, int b) {
  using Real = typename M::Real;
  Pose<Real> pose{load3(m.body_pos + 3 * b), load4(m.body_quat + 4 * b)};
  const int first = m.body_jntadr[b];
#pragma unroll 1
  for (int j = first; j < first + m.body_jntnum[b]; ++j) {
    const Real* qpos = w.qpos() + m.jnt_qposadr[j];
    const auto type = static_cast<JointType>(m.jnt_type[j]);
    if (type == JointType::free) {
      pose = {load3(qpos), normalized(load4(qpos + 3))};
      store3(w.xanchor() + 3 * j, pose.pos);
      store3(w.xaxis() + 3 * j, load3(m.jnt_axis + 3 * j));
      continue;
    }
    const Vec3<Real> local = load3(m.jnt_pos + 3 * j);
    const Vec3<Real> anchor = pose.pos + rotate(pose.quat, local);
    const Vec3<Real> axis = rotate(pose.quat, load3(m.jnt_axis + 3 * j));
    store3(w.xanchor() + 3 * j, anchor);
    store3(w.xaxis() + 3 * j, axis);
    if (type == JointType::slide) {
      pose.pos = pose.pos + (qpos[0] - m.qpos0[m.jnt_qposadr[j]]) * axis;
      continue;
    }
    const Quat<Real> turn = type == JointType::ball
                                ? normalized(load4(qpos))
                                : axis_angle(load3(m.jnt_axis + 3 * j), qpos[0] - m.qpos0[m.jnt_qposadr[j]]);
    pose.quat = pose.quat * turn;
    pose.pos = anchor - rotate(pose.quat, local);
  }
  return {pose.pos, normalized(pose.quat)};
}

template <class G, class M, class W>
SIM_HD void body_poses(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const auto load = [&](int b) { return Pose<Real>{load3(w.xpos() + 3 * b), load4(w.xquat() + 4 * b)}; };
  const auto store = [&](int b, const Pose<Real>& p) {
    store3(w.xpos() + 3 * b, p.pos);
    store4(w.xquat() + 4 * b, p.quat);
  };
  g.for_each(m.nbody, [&](int b) { store(b, joint_pose(m, w, b)); });
  g.scan_down(
      m.bodies, load, [](const Pose<Real>& parent, const Pose<Real>& own) { return parent * own; }, store);
  g.for_each(m.njnt, [&](int j) {
    if (static_cast<JointType>(m.jnt_type[j]) == JointType::free) return;  // given in the world's frame
    const Pose<Real> parent = load(m.body_parentid[m.jnt_bodyid[j]]);
    store3(w.xanchor() + 3 * j, parent.pos + rotate(parent.quat, load3(w.xanchor() + 3 * j)));
    store3(w.xaxis() + 3 * j, rotate(parent.quat, load3(w.xaxis() + 3 * j)));
  });
}

// Centre of mass of every kinematic tree.
template <class G, class M, class W>
SIM_HD void centres_of_mass(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const auto ipos = m.body_ipos.of(w.index);
  const auto mass = m.body_mass.of(w.index);
  const auto treemass = m.body_subtreemass.of(w.index);
  g.for_each(m.nbody, [&](int b) {
    const Vec3<Real> centre = load3(w.xpos() + 3 * b) + rotate(load4(w.xquat() + 4 * b), load3(ipos + 3 * b));
    store3(w.xipos() + 3 * b, centre);
    store3(w.root_com() + 3 * b, centre);
  });
#pragma unroll 1
  for (int r = 0; r < m.nroot; ++r) {
    const int root = m.root_bodyid[r], n = m.root_end[r] - root;
    if (n == 1 || all(treemass[root] < kTiny<Real>())) continue;
    const Vec3<Real> moment =
        g.template reduce<Vec3<Real>>(n, [&](int i) { return mass[root + i] * load3(w.xipos() + 3 * (root + i)); });
    g.once([&] { store3(w.root_com() + 3 * root, (Real(1) / treemass[root]) * moment); });
  }
}

// Spatial inertias (cinert) and dof axes (cdof) about the centre of mass of the tree.
template <class G, class M, class W>
SIM_HD void inertias_and_axes(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  g.for_each(m.nbody, [&](int b) {
    const Vec3<Real> offset = load3(w.xipos() + 3 * b) - load3(w.root_com() + 3 * m.body_rootid[b]);
    const Quat<Real> frame = load4(w.xquat() + 4 * b) * load4(m.body_iquat + 4 * b);
    const Real mass = b > 0 ? m.body_mass.of(w.index)[b] : Real(0);
    const Real one = b > 0 ? Real(1) : Real(0);
    store10(w.cinert() + 10 * b, make_inertia(frame, one * load3(m.body_inertia.of(w.index) + 3 * b), mass, offset));
  });
  g.for_each(m.njnt, [&](int j) {
    const int b = m.jnt_bodyid[j];
    const Vec3<Real> offset = load3(w.root_com() + 3 * m.body_rootid[b]) - load3(w.xanchor() + 3 * j);
    const Vec3<Real> axis = load3(w.xaxis() + 3 * j);
    Real* out = w.cdof() + 6 * m.jnt_dofadr[j];
    const auto type = static_cast<JointType>(m.jnt_type[j]);
    const Vec3<Real> zero{Real(0), Real(0), Real(0)};
    if (type == JointType::slide) {
      store6(out, Vec6<Real>{zero, axis});
    } else if (type == JointType::hinge) {
      store6(out, Vec6<Real>{axis, cross(axis, offset)});
    } else {
      if (type == JointType::free) {
        store6(out, Vec6<Real>{zero, {Real(1), Real(0), Real(0)}});
        store6(out + 6, Vec6<Real>{zero, {Real(0), Real(1), Real(0)}});
        store6(out + 12, Vec6<Real>{zero, {Real(0), Real(0), Real(1)}});
        out += 18;
      }
      const Mat3<Real> r = matrix(load4(w.xquat() + 4 * b));
      for (int k = 0; k < 3; ++k) {
        const Vec3<Real> a = column(r, k);
        store6(out + 6 * k, Vec6<Real>{a, cross(a, offset)});
      }
    }
  });
}

template <class G, class M, class W>
SIM_HD void geom_poses(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  g.for_each(m.ngeom, [&](int i) {
    const int b = m.geom_bodyid[i];
    const Pose<Real> pose = Pose<Real>{load3(w.xpos() + 3 * b), load4(w.xquat() + 4 * b)} *
                            Pose<Real>{load3(m.geom_pos + 3 * i), load4(m.geom_quat + 4 * i)};
    store3(w.geom_xpos() + 3 * i, pose.pos);
    store4(w.geom_xquat() + 4 * i, pose.quat);
  });
}

// Lengths of fixed tendons.
template <class G, class M, class W>
SIM_HD void tendon_lengths(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  g.for_each(m.ntendon, [&](int t) {
    Real sum = 0;
    for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k)
      sum += m.wrap_coef[k] * w.qpos()[m.wrap_qposid[k]];
    w.ten_length()[t] = sum;
  });
}

template <class G, class M, class W>
SIM_HD void kinematics(const G& g, const M& m, const W& w) {
  body_poses(g, m, w);
  centres_of_mass(g, m, w);
  inertias_and_axes(g, m, w);
  geom_poses(g, m, w);
  if (m.has_tendon_forces || m.has_tendon_rows) tendon_lengths(g, m, w);
}

}  // namespace hotloop
