// Velocities, bias forces, passive forces, actuation: mj_comVel, mj_rne (without acceleration), mj_passive,
// mj_fwdActuation; and the composite inertias of mj_makeM, summed along the tree together with the bias forces.
#pragma once
#include "sim/mujoco/rows.h"
#include "sim/mujoco/spatial.h"
#include "sim/mujoco/world.h"

namespace hotloop {

template <class Real>
SIM_HD Vec6<Real> zero6() {
  return {{Real(0), Real(0), Real(0)}, {Real(0), Real(0), Real(0)}};
}

// Velocity of the chain up to and including dof i; zero for -1.
template <class W>
SIM_HD Vec6<typename W::Real> velocity_after(const W& w, int dof) {
  return dof < 0 ? zero6<typename W::Real>() : load6(w.dof_vel() + 6 * dof);
}

// MuJoCo's cvel of a body.
template <class M, class W>
SIM_HD Vec6<typename M::Real> body_velocity(const M& m, const W& w, int b) {
  return velocity_after(w, m.body_lastdof[b]);
}

// dof_vel and dof_acc. The rate of change of a dof's axis is cross_motion(velocity of what carries it, axis).
template <class G, class M, class W>
SIM_HD void chain_velocities(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const auto add = [](const Vec6<Real>& above, const Vec6<Real>& own) { return above + own; };
  g.for_each(m.nv, [&](int i) { store6(w.dof_vel() + 6 * i, w.qvel()[i] * load6(w.cdof() + 6 * i)); });
  g.scan_down(
      m.dofs, [&](int i) { return load6(w.dof_vel() + 6 * i); }, add,
      [&](int i, const Vec6<Real>& v) { store6(w.dof_vel() + 6 * i, v); });
  g.for_each(m.nv, [&](int i) {
    const Vec6<Real> rate = m.dof_fixed_axis[i] != 0
                                ? zero6<Real>()
                                : cross_motion(velocity_after(w, m.dof_before[i]), load6(w.cdof() + 6 * i));
    store6(w.dof_acc() + 6 * i, w.qvel()[i] * rate);
  });
  g.scan_down(
      m.dofs, [&](int i) { return load6(w.dof_acc() + 6 * i); }, add,
      [&](int i, const Vec6<Real>& v) { store6(w.dof_acc() + 6 * i, v); });
}

// Lane k sums component k of an array [nbody][stride] over every body's subtree.
template <class M, class Real>
SIM_HD void subtree_sum(const M& m, Real* data, int stride) {
#pragma unroll 1
  for (int b = m.nbody - 1; b > 0; --b) data[m.body_parentid[b] * stride] += data[b * stride];
}

// What xfrc_applied does to body b, about the centre of mass of its tree.
template <class M, class W>
SIM_HD Vec6<typename M::Real> applied_force(const M& m, const W& w, int b) {
  const auto applied = m.xfrc_applied.of(w.index) + 6 * b;
  const auto force = load3(applied);
  const auto arm = load3(w.xipos() + 3 * b) - load3(w.root_com() + 3 * m.body_rootid[b]);
  return {load3(applied + 3) + cross(arm, force), force};
}

// Forces that would be needed for zero joint acceleration (cfrc) and composite inertias (crb), then qfrc_bias. Forces
// from outside lessen what is needed: qfrc_bias is MuJoCo's less theirs.
template <class G, class M, class W>
SIM_HD void bias_forces(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Vec3<Real> gravity = load3(m.gravity.of(w.index));
  g.for_each(m.nbody, [&](int b) {
    const Inertia10<Real> inertia = load10(w.cinert() + 10 * b);
    const int dof = m.body_lastdof[b];
    const Vec6<Real> v = velocity_after(w, dof);
    Vec6<Real> a = dof < 0 ? zero6<Real>() : load6(w.dof_acc() + 6 * dof);
    a.lin = a.lin - gravity;
    Vec6<Real> force = inertia * a + cross_force(v, inertia * v);
    if (m.xfrc_applied.stride != 0) force = force + Real(-1) * applied_force(m, w, b);
    store6(w.cfrc() + 6 * b, force);
    store10(w.crb() + 10 * b, inertia);
  });
  g.for_each(16, [&](int k) {
    if (k < 10)
      subtree_sum(m, w.crb() + k, 10);
    else
      subtree_sum(m, w.cfrc() + k - 10, 6);
  });
  g.for_each(m.nv,
             [&](int i) { w.qfrc_bias()[i] = dot(load6(w.cdof() + 6 * i), load6(w.cfrc() + 6 * m.dof_bodyid[i])); });
}

// Drag and lift on a body as on a box of its inertia in a medium (MuJoCo documentation, "Fluid forces, inertia model").
// The result is a force about the centre of mass of the tree.
template <class M, class W>
SIM_HD Vec6<typename M::Real> fluid_force(const M& m, const W& w, int b) {
  using Real = typename M::Real;
  const Real mass = m.body_mass.of(w.index)[b];
  if (b == 0 || all(mass < kTiny<Real>())) return zero6<Real>();
  const Vec3<Real> i = load3(m.body_inertia.of(w.index) + 3 * b);
  const auto edge = [&](Real sum) { return square_root(maximum(kTiny<Real>(), sum) / mass * Real(6)); };
  const Vec3<Real> box{edge(i.y + i.z - i.x), edge(i.x + i.z - i.y), edge(i.x + i.y - i.z)};
  const Mat3<Real> frame = matrix(load4(w.xquat() + 4 * b) * load4(m.body_iquat + 4 * b));
  const Vec3<Real> arm = load3(w.xipos() + 3 * b) - load3(w.root_com() + 3 * m.body_rootid[b]);
  const Vec6<Real> v = body_velocity(m, w, b);
  const Vec3<Real> turn = transposed_times(frame, v.rot);
  const Vec3<Real> wind{m.wind[0], m.wind[1], m.wind[2]};
  const Vec3<Real> slip = transposed_times(frame, v.lin + cross(v.rot, arm) - wind);
  Vec3<Real> torque{Real(0), Real(0), Real(0)}, force = torque;
  if (all(m.viscosity > Real(0))) {
    const Real diameter = (box.x + box.y + box.z) / Real(3);
    torque = (-Real(kPi) * diameter * diameter * diameter * m.viscosity) * turn;
    force = (Real(-3 * kPi) * diameter * m.viscosity) * slip;
  }
  if (all(m.density > Real(0))) {
    const Real xx = box.x * box.x, yy = box.y * box.y, zz = box.z * box.z;
    const Real drag = Real(0.5) * m.density, spin = m.density / Real(64);
    force = force - Vec3<Real>{drag * box.y * box.z * absolute(slip.x) * slip.x,
                               drag * box.x * box.z * absolute(slip.y) * slip.y,
                               drag * box.x * box.y * absolute(slip.z) * slip.z};
    torque = torque - Vec3<Real>{spin * box.x * (yy * yy + zz * zz) * absolute(turn.x) * turn.x,
                                 spin * box.y * (xx * xx + zz * zz) * absolute(turn.y) * turn.y,
                                 spin * box.z * (xx * xx + yy * yy) * absolute(turn.z) * turn.z};
  }
  const Vec3<Real> world_force = frame * force;
  return {frame * torque + cross(arm, world_force), world_force};
}

template <class M, class W>
SIM_HD void joint_spring(const M& m, const W& w, int j) {
  using Real = typename M::Real;
  const Real k = m.jnt_stiffness.of(w.index)[j];
  const auto type = static_cast<JointType>(m.jnt_type[j]);
  const Real* qpos = w.qpos() + m.jnt_qposadr[j];
  auto rest = m.qpos_spring + m.jnt_qposadr[j];
  Real* out = w.qfrc_passive() + m.jnt_dofadr[j];
  if (type == JointType::hinge || type == JointType::slide) {
    out[0] = -k * (qpos[0] - rest[0]);
    return;
  }
  if (!m.has_ball_springs) {
    for (int i = 0; i < (type == JointType::free ? 6 : 3); ++i) out[i] = 0;
    return;
  }
  if (type == JointType::free) {
    store3(out, -k * (load3(qpos) - load3(rest)));
    qpos += 3;
    rest += 3;
    out += 3;
  }
  store3(out, -k * rotation_vector(conjugate(load4(rest)) * normalized(load4(qpos))));
}

// Force of a fixed tendon's spring and damper.
template <class M, class W>
SIM_HD typename M::Real tendon_force(const M& m, const W& w, int t) {
  using Real = typename M::Real;
  Real speed = 0;
#pragma unroll 1
  for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k)
    speed += m.wrap_coef[k] * w.qvel()[m.wrap_dofid[k]];
  const Real len = w.ten_length()[t];
  const Real stretch = clamp(len, m.tendon_lengthspring[2 * t], m.tendon_lengthspring[2 * t + 1]) - len;
  Real force = m.has_springs ? m.tendon_stiffness.of(w.index)[t] * stretch : Real(0);
  if (m.has_dampers) force -= m.tendon_damping.of(w.index)[t] * speed;
  return force;
}

template <class G, class M, class W>
SIM_HD void passive_forces(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  if (m.has_springs) g.for_each(m.njnt, [&](int j) { joint_spring(m, w, j); });
  if (m.has_fluid) {
    g.for_each(m.nbody, [&](int b) { store6(w.cfluid() + 6 * b, fluid_force(m, w, b)); });
    g.for_each(6, [&](int k) { subtree_sum(m, w.cfluid() + k, 6); });
  }
  if (m.has_tendon_forces) g.for_each(m.ntendon, [&](int t) { w.ten_velocity()[t] = tendon_force(m, w, t); });
  g.for_each(m.nv, [&](int i) {
    Real force = m.has_springs ? w.qfrc_passive()[i] : Real(0);
    if (m.has_dampers) force -= m.dof_damping.of(w.index)[i] * w.qvel()[i];
#pragma unroll 1
    for (int k = m.dof_wrapadr[i]; m.has_tendon_forces && k < m.dof_wrapadr[i] + m.dof_wrapnum[i]; ++k) {
      const int entry = m.dof_wrap[k];
      force += m.wrap_coef[entry] * w.ten_velocity()[m.wrap_tendonid[entry]];
    }
    if (m.has_fluid) force += dot(load6(w.cdof() + 6 * i), load6(w.cfluid() + 6 * m.dof_bodyid[i]));
    w.qfrc_passive()[i] = force;
  });
}

// Force of actuator u: gain * ctrl + bias, both affine in its length and velocity.
template <class M, class W>
SIM_HD typename M::Real actuator_output(const M& m, const W& w, int u) {
  using Real = typename M::Real;
  Real ctrl = w.ctrl()[u];
  if (m.clamps_ctrl && m.actuator_ctrllimited[u] != 0)
    ctrl = clamp(ctrl, m.actuator_ctrlrange[2 * u], m.actuator_ctrlrange[2 * u + 1]);
  const auto gain = m.actuator_gainprm.of(w.index) + 3 * u;
  const auto bias = m.actuator_biasprm.of(w.index) + 3 * u;
  Real force = gain[0] * ctrl;
  if (m.has_affine) {
    Real len = 0, speed = 0;
    const int id = m.actuator_trnid[u];
    const auto kind = static_cast<Transmission>(m.actuator_trntype[u]);
    const auto gear = m.actuator_gear + 6 * u;
    if (kind == Transmission::joint) len = gear[0] * w.qpos()[m.jnt_qposadr[id]];
    if (kind == Transmission::tendon) len = gear[0] * w.ten_length()[id];
    if (kind == Transmission::ball)
      len = dot(load3(gear), rotation_vector(normalized(load4(w.qpos() + m.jnt_qposadr[id]))));
#pragma unroll 1
    for (int k = m.actuator_momadr[u]; k < m.actuator_momadr[u] + m.actuator_momnum[u]; ++k)
      speed += m.mom_coef[k] * w.qvel()[m.mom_dofid[k]];
    force += (gain[1] * len + gain[2] * speed) * ctrl + bias[0] + bias[1] * len + bias[2] * speed;
  }
  if (m.actuator_forcelimited[u] != 0)
    force = clamp(force, m.actuator_forcerange[2 * u], m.actuator_forcerange[2 * u + 1]);
  return force;
}

template <class G, class M, class W>
SIM_HD void actuation(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  if (m.has_actuation) g.for_each(m.nu, [&](int u) { w.actuator_force()[u] = actuator_output(m, w, u); });
  g.for_each(m.nv, [&](int i) {
    Real force = 0;
    if (m.has_actuation)
#pragma unroll 1
      for (int k = m.dof_momadr[i]; k < m.dof_momadr[i] + m.dof_momnum[i]; ++k)
        force += m.mom_coef[m.dof_mom[k]] * w.actuator_force()[m.mom_actid[m.dof_mom[k]]];
    const int j = m.dof_jntid[i];
    w.qfrc_actuator()[i] = clamp(force, m.jnt_actfrcrange[2 * j], m.jnt_actfrcrange[2 * j + 1]);
  });
}

// Everything that does not depend on the acceleration: qfrc_smooth.
template <class G, class M, class W>
SIM_HD void smooth_forces(const G& g, const M& m, const W& w) {
  chain_velocities(g, m, w);
  bias_forces(g, m, w);
  passive_forces(g, m, w);
  actuation(g, m, w);
  g.for_each(m.nv, [&](int i) { w.qfrc_smooth()[i] = w.qfrc_passive()[i] - w.qfrc_bias()[i] + w.qfrc_actuator()[i]; });
}

// The mass matrix (CRB), both triangles, row stride m.row; its padding is zero.
template <class G, class M, class W>
SIM_HD void mass_matrix(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  Real* out = w.M();
  g.for_each(m.nv * m.row / 4, [&](int k) { reinterpret_cast<Quad<Real>*>(out)[k] = {}; });
  g.for_each(m.nv, [&](int i) {
    const Vec6<Real> force = load10(w.crb() + 10 * m.dof_bodyid[i]) * load6(w.cdof() + 6 * i);
    out[i * m.row + i] = dot(load6(w.cdof() + 6 * i), force) + m.dof_armature.of(w.index)[i];
    for (int j = m.dof_parentid[i]; j >= 0; j = m.dof_parentid[j]) {
      const Real value = dot(load6(w.cdof() + 6 * j), force);
      out[i * m.row + j] = value;
      out[j * m.row + i] = value;
    }
  });
}

}  // namespace hotloop
