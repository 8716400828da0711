// Constraints of a world as blocks: mj_makeConstraint and mj_referenceConstraint. A block is one scalar constraint, or
// one frictional contact. A pyramidal contact is kept as three rows (normal and two tangents, the tangents scaled by
// the friction coefficient), not as the pyramid's four edges: edge +-k is row 0 +- row k, so everything about the edges
// follows from the three.
//
// Each block has a reference and a regularisation: MuJoCo documentation, "Computation", section "Constraint model".
#pragma once
#include "sim/mujoco/rows.h"
#include "sim/mujoco/spatial.h"
#include "sim/mujoco/world.h"

namespace hotloop {

enum class BlockKind : int {
  dof_friction,  // block_row: dof; block_limit: the friction loss
  row_friction,  // block_row: row of J
  dof_limit,     // block_row: dof; block_limit: sign of the Jacobian's one entry
  row_limit,     // block_row: row of J; one-sided
  pyramid,       // block_row: first of three rows
};

SIM_HD float power(float x, float p) { return powf(x, p); }
SIM_HD double power(double x, double p) { return pow(x, p); }

// The impedance at a distance x beyond the margin (MuJoCo documentation, "Impedance"); imp: solimp, already in range.
template <class Real>
SIM_HD Real impedance(const Real* solimp, Real distance) {
  const Real low = clamp(solimp[0], Real(1e-4), Real(0.9999)), high = clamp(solimp[1], Real(1e-4), Real(0.9999));
  const Real width = solimp[2];
  if (low == high || width <= kTiny<Real>()) return Real(0.5) * (low + high);
  const Real x = absolute(distance) / width;
  if (x >= Real(1)) return high;
  if (x <= Real(0)) return low;
  const Real middle = clamp(solimp[3], Real(1e-4), Real(0.9999)), p = maximum(solimp[4], Real(1));
  Real y = x;
  if (p == Real(2))
    y = x <= middle ? x * x / middle : Real(1) - (Real(1) - x) * (Real(1) - x) / (Real(1) - middle);
  else if (p != Real(1))
    y = x <= middle ? power(x, p) / power(middle, p - Real(1))
                    : Real(1) - power(Real(1) - x, p) / power(Real(1) - middle, p - Real(1));
  return low + y * (high - low);
}

// What a constraint does about its violation: aref = -damping * velocity - push.
template <class Real>
struct Reference {
  Real push, damping, impedance;
};
template <class M>
SIM_HD Reference<typename M::Real> reference(const M& m, const typename M::Real* solref, const typename M::Real* solimp,
                                             typename M::Real distance, bool friction) {
  using Real = typename M::Real;
  Real ref0 = solref[0], ref1 = solref[1];
  if ((ref0 > Real(0)) != (ref1 > Real(0))) {  // mixed formats: MuJoCo takes the default
    ref0 = Real(0.02);
    ref1 = Real(1);
  }
  if (m.safe_ref && ref0 > Real(0)) ref0 = maximum(ref0, Real(2) * m.timestep);
  const Real imp = impedance(solimp, distance);
  const Real high = clamp(solimp[1], Real(1e-4), Real(0.9999));
  const Real stiffness = ref0 > Real(0) ? Real(1) / maximum(kTiny<Real>(), high * high * ref0 * ref0 * ref1 * ref1)
                                        : -ref0 / maximum(kTiny<Real>(), high * high);
  const Real damping =
      ref1 > Real(0) ? Real(2) / maximum(kTiny<Real>(), high * ref0) : -ref1 / maximum(kTiny<Real>(), high);
  return {friction ? Real(0) : stiffness * imp * distance, damping, imp};
}

// Regularised inverse inertia of a scalar constraint: D = imp / ((1 - imp) * invweight).
template <class Real>
SIM_HD Real regularisation(Real impedance, Real invweight) {
  return Real(1) / maximum(kTiny<Real>(), (Real(1) - impedance) * invweight / impedance);
}

template <class M, class W>
SIM_HD typename M::Real row_dot(const M& m, const W& w, int row, const typename M::Real* vector) {
  return dot_row(w.J() + row * m.row, vector, m.nv);
}

// Writes a scalar block. residual: block_res starts as -aref; the solver adds J qacc.
template <class M, class W>
SIM_HD void scalar_block(const M& m, const W& w, int block, BlockKind kind, int row, typename M::Real limit,
                         const Reference<typename M::Real>& ref, typename M::Real invweight,
                         typename M::Real velocity) {
  (void)m;
  w.block_kind()[block] = static_cast<int>(kind);
  w.block_row()[block] = row;
  w.block_limit()[block] = limit;
  w.block_D()[block] = regularisation(ref.impedance, invweight);
  w.block_res()[3 * block] = ref.damping * velocity + ref.push;
  w.block_res()[3 * block + 1] = w.block_res()[3 * block + 2] = 0;
}

template <class G, class M, class W>
SIM_HD void friction_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  using Real = typename M::Real;
  const int first = blocks;
  g.for_each(m.nfriction, [&](int k) {
    const int i = m.friction_dofid[k];
    const auto ref = reference(m, m.dof_solref + 2 * i, m.dof_solimp + 5 * i, Real(0), true);
    scalar_block(m, w, first + k, BlockKind::dof_friction, i, m.dof_frictionloss.of(w.index)[i], ref,
                 m.dof_invweight0.of(w.index)[i], w.qvel()[i]);
  });
  blocks += m.nfriction;
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.tendon_frictionloss.of(w.index)[t] <= Real(0)) continue;
    const int row = rows++, block = blocks++;
    g.for_each(m.row, [&](int i) { w.J()[row * m.row + i] = 0; });
    g.once([&] {
      for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k)
        w.J()[row * m.row + m.wrap_dofid[k]] += m.wrap_coef[k];
      const auto ref = reference(m, m.tendon_solref_fri + 2 * t, m.tendon_solimp_fri + 5 * t, Real(0), true);
      scalar_block(m, w, block, BlockKind::row_friction, row, m.tendon_frictionloss.of(w.index)[t], ref,
                   m.tendon_invweight0.of(w.index)[t], row_dot(m, w, row, w.qvel()));
    });
  }
}

// Limits of hinge and slide joints that are nearer than their margin: bit 0 the lower, bit 1 the upper.
template <class M, class W>
SIM_HD int near_limits(const M& m, const W& w, int j) {
  using Real = typename M::Real;
  const auto type = static_cast<JointType>(m.jnt_type[j]);
  if (m.jnt_limited[j] == 0 || (type != JointType::hinge && type != JointType::slide)) return 0;
  const Real value = w.qpos()[m.jnt_qposadr[j]];
  return (value - m.jnt_range[2 * j] < m.jnt_margin[j] ? 1 : 0) |
         (m.jnt_range[2 * j + 1] - value < m.jnt_margin[j] ? 2 : 0);
}

struct LimitItem {
  int count, sides;
};

template <class M, class W>
SIM_HD void limit_block(const M& m, const W& w, int j, int side, int block) {
  using Real = typename M::Real;
  const int i = m.jnt_dofadr[j];
  const Real value = w.qpos()[m.jnt_qposadr[j]];
  const Real sign = side == 0 ? Real(1) : Real(-1);
  const Real distance = sign * (value - m.jnt_range[2 * j + side]) - m.jnt_margin[j];
  const auto ref = reference(m, m.jnt_solref + 2 * j, m.jnt_solimp + 5 * j, distance, false);
  scalar_block(m, w, block, BlockKind::dof_limit, i, sign, ref, m.dof_invweight0.of(w.index)[i], sign * w.qvel()[i]);
}

// The limit of a ball joint's angle.
template <class G, class M, class W>
SIM_HD void ball_limit(const G& g, const M& m, const W& w, int j, int& blocks, int& rows) {
  using Real = typename M::Real;
  Real angle;
  const Vec3<Real> axis = normalized(rotation_vector(normalized(load4(w.qpos() + m.jnt_qposadr[j]))), angle);
  const Real range = maximum(m.jnt_range[2 * j], m.jnt_range[2 * j + 1]);
  if (!(range - angle < m.jnt_margin[j])) return;
  const int row = rows++, block = blocks++;
  g.for_each(m.row, [&](int i) { w.J()[row * m.row + i] = 0; });
  g.once([&] {
    const int i = m.jnt_dofadr[j];
    store3(w.J() + row * m.row + i, Real(-1) * axis);
    const auto ref = reference(m, m.jnt_solref + 2 * j, m.jnt_solimp + 5 * j, range - angle - m.jnt_margin[j], false);
    scalar_block(m, w, block, BlockKind::row_limit, row, Real(0), ref, m.dof_invweight0.of(w.index)[i],
                 row_dot(m, w, row, w.qvel()));
  });
}

template <class G, class M, class W>
SIM_HD void tendon_limits(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  using Real = typename M::Real;
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.tendon_limited[t] == 0) continue;
    for (int side = 0; side < 2; ++side) {
      const Real sign = side == 0 ? Real(1) : Real(-1);
      const Real distance = sign * (w.ten_length()[t] - m.tendon_range[2 * t + side]) - m.tendon_margin[t];
      if (!(distance < Real(0))) continue;
      const int row = rows++, block = blocks++;
      g.for_each(m.row, [&](int i) { w.J()[row * m.row + i] = 0; });
      g.once([&] {
        for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k)
          w.J()[row * m.row + m.wrap_dofid[k]] += sign * m.wrap_coef[k];
        const auto ref = reference(m, m.tendon_solref_lim + 2 * t, m.tendon_solimp_lim + 5 * t, distance, false);
        scalar_block(m, w, block, BlockKind::row_limit, row, Real(0), ref, m.tendon_invweight0.of(w.index)[t],
                     row_dot(m, w, row, w.qvel()));
      });
    }
  }
}

template <class M>
SIM_HD bool has_ball_limits(const M& m) {
  for (int k = 0; k < m.nquat; ++k)
    if (m.jnt_limited[m.quat_jntid[k]] != 0) return true;
  return false;
}

// In MuJoCo's order: joints (a joint's lower limit before its upper), then tendons. PGS depends on the order.
template <class G, class M, class W>
SIM_HD void limit_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  const int first = blocks;
  if (has_ball_limits(m)) {
    for (int j = 0; j < m.njnt; ++j) {
      if (static_cast<JointType>(m.jnt_type[j]) == JointType::ball && m.jnt_limited[j] != 0)
        ball_limit(g, m, w, j, blocks, rows);
      const int sides = near_limits(m, w, j);
      for (int side = 0; side < 2; ++side) {
        if ((sides >> side & 1) == 0) continue;
        const int block = blocks++;
        g.once([&] { limit_block(m, w, j, side, block); });
      }
    }
  } else if (m.njnt > 0) {
    blocks += g.append(
        m.njnt,
        [&](int j) {
          const int sides = near_limits(m, w, j);
          return LimitItem{(sides & 1) + (sides >> 1), sides};
        },
        [&](int j, const LimitItem& item, int at) {
          if ((item.sides & 1) != 0) limit_block(m, w, j, 0, first + at);
          if ((item.sides & 2) != 0) limit_block(m, w, j, 1, first + at + item.count - 1);
        });
  }
  if (m.ntendon > 0) tendon_limits(g, m, w, blocks, rows);
}

SIM_HD int moves(const int* mask, int dof) { return mask[dof >> 5] >> (dof & 31) & 1; }

// The rows of contact c: relative velocity of the two bodies at the contact, along the normal and the tangents.
template <class G, class M, class W>
SIM_HD void contact_rows(const G& g, const M& m, const W& w, int c, int row) {
  using Real = typename M::Real;
  const int pair = w.con_pair()[c], dims = m.pair_condim[pair];
  const int* mask1 = m.body_dofmask + 4 * m.geom_bodyid[m.pair_geom1[pair]];
  const int* mask2 = m.body_dofmask + 4 * m.geom_bodyid[m.pair_geom2[pair]];
  const Vec3<Real> point = load3(w.con_pos() + 3 * c);
  const Vec3<Real> normal = load3(w.con_frame() + 6 * c), tangent = load3(w.con_frame() + 6 * c + 3);
  const Vec3<Real> other = cross(normal, tangent);
  const Real* mu = m.pair_friction.of(w.index) + 2 * pair;
  Real* out = w.J() + row * m.row;
  g.for_each(m.row, [&](int i) {
    const int sign = i < m.nv ? moves(mask2, i) - moves(mask1, i) : 0;  // a dof that moves both moves neither
    Vec3<Real> v{Real(0), Real(0), Real(0)};
    if (sign != 0) {
      const Vec6<Real> axis = load6(w.cdof() + 6 * i);
      const Vec3<Real> arm = point - load3(w.root_com() + 3 * m.body_rootid[m.dof_bodyid[i]]);
      v = Real(sign) * (axis.lin + cross(axis.rot, arm));
    }
    out[i] = dot(normal, v);
    if (dims == 1) return;
    out[m.row + i] = mu[0] * dot(tangent, v);
    out[2 * m.row + i] = mu[1] * dot(other, v);
  });
}

// Reference and regularisation of contact c, whose rows are in place.
template <class M, class W>
SIM_HD void contact_block(const M& m, const W& w, int c, int block, int row) {
  using Real = typename M::Real;
  const int pair = w.con_pair()[c];
  const int body1 = m.geom_bodyid[m.pair_geom1[pair]], body2 = m.geom_bodyid[m.pair_geom2[pair]];
  const Real* invweight = m.body_invweight0.of(w.index);
  const Real translation = invweight[2 * body1] + invweight[2 * body2];
  const auto ref =
      reference(m, m.pair_solref + 2 * pair, m.pair_solimp + 5 * pair, w.con_dist()[c] - m.pair_margin[pair], false);
  const Real velocity = row_dot(m, w, row, w.qvel());
  if (m.pair_condim[pair] == 1) {
    scalar_block(m, w, block, BlockKind::row_limit, row, Real(0), ref, translation, velocity);
    return;
  }
  // the pyramid's edges share the regularisation that matches an elliptic cone of friction mu (mj_makeImpedance)
  const Real slide = m.pair_friction.of(w.index)[2 * pair];
  const Real normal = regularisation(ref.impedance, translation + slide * slide * translation);
  w.block_kind()[block] = static_cast<int>(BlockKind::pyramid);
  w.block_row()[block] = row;
  w.block_limit()[block] = 0;
  w.block_D()[block] = normal * maximum(kTiny<Real>(), m.impratio) / (Real(2) * slide * slide);
  w.block_res()[3 * block] = ref.damping * velocity + ref.push;
  w.block_res()[3 * block + 1] = ref.damping * row_dot(m, w, row + 1, w.qvel());
  w.block_res()[3 * block + 2] = ref.damping * row_dot(m, w, row + 2, w.qvel());
}

template <class G, class M, class W>
SIM_HD void contact_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  const int first = blocks;
  int contacts = 0, scalars = blocks;
  bool full = false;
  for (; contacts < w.counts()[kContacts]; ++contacts) {
    const int dims = m.pair_condim[w.con_pair()[contacts]];
    full = rows + dims > m.max_rows || blocks >= m.max_blocks;
    if (full) break;
    const int row = rows, block = blocks;
    contact_rows(g, m, w, contacts, row);
    g.once([&] { w.block_row()[block] = row; });
    rows += dims;
    scalars += dims == 1 ? 1 : 2 * (dims - 1);
    ++blocks;
  }
  const int made = contacts, total = scalars;
  g.for_each(made, [&](int c) { contact_block(m, w, c, first + c, w.block_row()[first + c]); });
  g.once([&] {
    w.counts()[kContactBlocks] = first;
    w.counts()[kContacts] = made;
    w.counts()[kScalars] = total;
    if (full) w.counts()[kStatus] |= kRowOverflow;
  });
}

template <class G, class M, class W>
SIM_HD void constraints(const G& g, const M& m, const W& w) {
  int blocks = 0, rows = 0;
  if (m.has_friction) friction_blocks(g, m, w, blocks, rows);
  if (m.has_limits) limit_blocks(g, m, w, blocks, rows);
  contact_blocks(g, m, w, blocks, rows);
  const int total = blocks, used = rows;
  g.once([&] {
    w.counts()[kBlocks] = total;
    w.counts()[kRows] = used;
  });
}

}  // namespace hotloop
