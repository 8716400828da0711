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
  dof_friction,  // index: dof; limit: the friction loss
  row_friction,  // index: row of J; limit: the friction loss
  dof_limit,     // index: dof; limit: sign of the Jacobian's one entry
  row_limit,     // index: row of J; one-sided
  pyramid,       // index: first of three rows
};
// block_code holds kind and index. A scalar block has one residual; its limit lies in the place of the third.
SIM_HD int block_code(BlockKind kind, int index) { return 8 * index + static_cast<int>(kind); }
template <class W>
SIM_HD BlockKind kind_of(const W& w, int block) {
  return static_cast<BlockKind>(w.block_code()[block] & 7);
}
template <class W>
SIM_HD int index_of(const W& w, int block) {
  return w.block_code()[block] >> 3;
}
template <class W>
SIM_HD typename W::Real limit_of(const W& w, int block) {
  return w.block_res()[3 * block + 2];
}

SIM_HD float power(float x, float p) { return powf(x, p); }
SIM_HD double power(double x, double p) { return pow(x, p); }

// The impedance at a distance beyond the margin (MuJoCo documentation, "Impedance"); sol: a row of the model's table.
template <class M, class Real>
SIM_HD Real impedance(const M& m, const Real* sol, Real distance) {
  const Real low = sol[kSolLow], high = sol[kSolHigh], width = sol[kSolWidth];
  if (low == high || width <= kTiny<Real>()) return Real(0.5) * (low + high);
  const Real x = minimum(absolute(distance) / width, Real(1));
  const Real middle = sol[kSolMiddle], p = sol[kSolPower];
  const bool lower = x <= middle;
  const Real z = lower ? x : Real(1) - x, edge = lower ? middle : Real(1) - middle;
  Real y = z;  // y(x) = x^p / middle^(p - 1), and the same from the other end
  if (p == Real(2))
    y = z * z / edge;
  else if (m.has_powers && p != Real(1))
    y = power(z, p) / power(edge, p - Real(1));
  return low + (lower ? y : Real(1) - y) * (high - low);
}

// Rows of the model's table of solver parameters.
template <class M>
SIM_HD int joint_sol(const M&, int joint) {
  return joint;
}
template <class M>
SIM_HD int pair_sol(const M& m, int pair) {
  return m.njnt + pair;
}
template <class M>
SIM_HD int dof_sol(const M& m, int dof) {
  return m.njnt + m.npair + dof;
}
template <class M>
SIM_HD int tendon_limit_sol(const M& m, int tendon) {
  return m.njnt + m.npair + m.nv + tendon;
}
template <class M>
SIM_HD int tendon_friction_sol(const M& m, int tendon) {
  return m.njnt + m.npair + m.nv + m.ntendon + tendon;
}

template <class M, class W>
SIM_HD typename M::Real row_dot(const M& m, const W& w, int row, const typename M::Real* vector) {
  return dot_row(w.J() + row * m.row, vector, m.nv);
}

// Writes what finish_blocks makes a scalar block of: where it is, how far beyond its margin, how fast.
template <class W, class Real>
SIM_HD void scalar_block(const W& w, int block, BlockKind kind, int index, Real limit, int sol, Real distance,
                         Real invweight, Real velocity) {
  w.block_code()[block] = block_code(kind, index);
  w.block_state()[block] = sol;
  w.block_D()[block] = invweight;
  w.block_dir()[3 * block] = distance;
  w.block_res()[3 * block] = velocity;
  w.block_res()[3 * block + 1] = 0;
  w.block_res()[3 * block + 2] = limit;
}

template <class G, class M, class W>
SIM_HD void friction_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  using Real = typename M::Real;
  const int first = blocks;
  g.for_each(m.nfriction, [&](int k) {
    const int i = m.friction_dofid[k];
    scalar_block(w, first + k, BlockKind::dof_friction, i, m.dof_frictionloss.of(w.index)[i], dof_sol(m, i), Real(0),
                 m.dof_invweight0.of(w.index)[i], w.qvel()[i]);
  });
  blocks += m.nfriction;
  for (int t = 0; m.has_tendon_rows && t < m.ntendon; ++t) {
    if (m.tendon_frictionloss.of(w.index)[t] <= Real(0)) continue;
    const int row = rows++, block = blocks++;
    g.for_each(m.row, [&](int i) { w.J()[row * m.row + i] = 0; });
    g.once([&] {
      for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k)
        w.J()[row * m.row + m.wrap_dofid[k]] += m.wrap_coef[k];
      scalar_block(w, block, BlockKind::row_friction, row, m.tendon_frictionloss.of(w.index)[t],
                   tendon_friction_sol(m, t), Real(0), m.tendon_invweight0.of(w.index)[t],
                   row_dot(m, w, row, w.qvel()));
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
  scalar_block(w, block, BlockKind::dof_limit, i, sign, joint_sol(m, j), distance, m.dof_invweight0.of(w.index)[i],
               sign * w.qvel()[i]);
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
    scalar_block(w, block, BlockKind::row_limit, row, Real(0), joint_sol(m, j), range - angle - m.jnt_margin[j],
                 m.dof_invweight0.of(w.index)[i], row_dot(m, w, row, w.qvel()));
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
        scalar_block(w, block, BlockKind::row_limit, row, Real(0), tendon_limit_sol(m, t), distance,
                     m.tendon_invweight0.of(w.index)[t], row_dot(m, w, row, w.qvel()));
      });
    }
  }
}

// In MuJoCo's order: joints (a joint's lower limit before its upper), then tendons. PGS depends on the order.
template <class G, class M, class W>
SIM_HD void limit_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  const int first = blocks;
  if (m.has_ball_limits) {
    for (int j = 0; j < m.njnt; ++j) {
      if (static_cast<JointType>(m.jnt_type[j]) == JointType::ball && m.jnt_limited[j] != 0)
        ball_limit(g, m, w, j, blocks, rows);
      const int sides = near_limits(m, w, j);
#pragma unroll 1
      for (int side = 0; side < 2; ++side) {
        if ((sides >> side & 1) == 0) continue;
        const int block = blocks++;
        g.once([&] { limit_block(m, w, j, side, block); });
      }
    }
  } else if (m.njnt > 0) {
    blocks += g.template append<2>(
        m.njnt,
        [&](int j) {
          const int sides = near_limits(m, w, j);
          return LimitItem{(sides & 1) + (sides >> 1), sides};
        },
        [&](int j, const LimitItem& item, int at) {
          for (int k = 0; k < item.count; ++k)
            limit_block(m, w, j, item.count == 2 ? k : item.sides - 1, first + at + k);
        });
  }
  if (m.has_tendon_rows) tendon_limits(g, m, w, blocks, rows);
}

// Places of the contacts' blocks and rows, and which dofs move only the first (bit set 0) or only the second body.
// Returns how many contacts fit.
template <class G, class M, class W>
SIM_HD int place_contacts(const G& g, const M& m, const W& w, int first, int rows) {
  struct Item {
    int count;
  };
  const int n = w.counts()[kContacts], words = dof_words(m.nv);
  const int needed = g.template append<2>(
      n, [&](int c) { return Item{m.pair_condim[w.con_pair()[c]]}; },
      [&](int c, const Item& item, int before) {
        const int pair = w.con_pair()[c], row = rows + before;
        if (row + item.count > m.max_rows || first + c >= m.max_blocks) {
          w.con_pair()[c] = -1;
          return;
        }
        w.block_code()[first + c] = block_code(item.count == 1 ? BlockKind::row_limit : BlockKind::pyramid, row);
        const int* mask1 = m.body_dofmask + 4 * m.geom_bodyid[m.pair_geom1[pair]];
        const int* mask2 = m.body_dofmask + 4 * m.geom_bodyid[m.pair_geom2[pair]];
        int* moves = w.con_moves() + 2 * words * c;
        for (int k = 0; k < words; ++k) {
          moves[2 * k] = mask1[k] & ~mask2[k];
          moves[2 * k + 1] = mask2[k] & ~mask1[k];
        }
      });
  if (rows + needed <= m.max_rows && first + n <= m.max_blocks) return n;
  return g.template reduce<int>(n, [&](int c) { return w.con_pair()[c] >= 0 ? 1 : 0; });
}

// The rows of the contacts: relative velocity of the two bodies at the contact, along the normal and the tangents
// (times their friction). One column a lane; a dof that moves both bodies moves neither against the other.
template <class G, class M, class W>
SIM_HD void contact_rows(const G& g, const M& m, const W& w, int first, int contacts) {
  using Real = typename M::Real;
  const int words = dof_words(m.nv);
  g.for_each(m.row, [&](int i) {
    const int dof = i < m.nv ? i : m.nv - 1;
    const Vec6<Real> axis = load6(w.cdof() + 6 * dof);
    const Vec3<Real> centre = load3(w.root_com() + 3 * m.body_rootid[m.dof_bodyid[dof]]);
#pragma unroll 1
    for (int c = 0; c < contacts; ++c) {
      const int* moves = w.con_moves() + 2 * words * c + 2 * (dof >> 5);
      const int sign = i < m.nv ? (moves[1] >> (dof & 31) & 1) - (moves[0] >> (dof & 31) & 1) : 0;
      const Quad<Real> point = quad(w.contact(), 3 * c), normal = quad(w.contact(), 3 * c + 1),
                       tangent = quad(w.contact(), 3 * c + 2);
      const Vec3<Real> arm = Vec3<Real>{point.v[0], point.v[1], point.v[2]} - centre;
      const Vec3<Real> v = Real(sign) * (axis.lin + cross(axis.rot, arm));
      const Vec3<Real> n{normal.v[0], normal.v[1], normal.v[2]}, t{tangent.v[0], tangent.v[1], tangent.v[2]};
      Real* out = w.J() + index_of(w, first + c) * m.row + i;
      out[0] = dot(n, v);
      if (kind_of(w, first + c) != BlockKind::pyramid) continue;
      out[m.row] = normal.v[3] * dot(t, v);
      out[2 * m.row] = tangent.v[3] * dot(cross(n, t), v);
    }
  });
}

// Velocity at a point of a body, from the velocity of its chain.
template <class M, class W>
SIM_HD Vec3<typename M::Real> point_velocity(const M& m, const W& w, int body, const Vec3<typename M::Real>& point) {
  using Real = typename M::Real;
  const int dof = m.body_lastdof[body];
  if (dof < 0) return {Real(0), Real(0), Real(0)};
  const Vec6<Real> v = load6(w.dof_vel() + 6 * dof);
  return v.lin + cross(v.rot, point - load3(w.root_com() + 3 * m.body_rootid[body]));
}

// The block of contact c, for finish_blocks.
template <class M, class W>
SIM_HD void contact_block(const M& m, const W& w, int c, int block) {
  using Real = typename M::Real;
  const int pair = w.con_pair()[c];
  const int body1 = m.geom_bodyid[m.pair_geom1[pair]], body2 = m.geom_bodyid[m.pair_geom2[pair]];
  const Real* contact = w.contact() + kContactStride * c;
  const Real* invweight = m.body_invweight0.of(w.index);
  const Vec3<Real> point = load3(contact), normal = load3(contact + 4), tangent = load3(contact + 8);
  const Vec3<Real> velocity = point_velocity(m, w, body2, point) - point_velocity(m, w, body1, point);
  w.block_state()[block] = pair_sol(m, pair);
  w.block_D()[block] = invweight[2 * body1] + invweight[2 * body2];
  w.block_dir()[3 * block] = contact[3] - m.pair_margin[pair];
  w.block_dir()[3 * block + 1] = contact[7];
  w.block_dir()[3 * block + 2] = 0;  // Newton's first evaluation multiplies it by zero: it must be a number
  const bool pyramid = kind_of(w, block) == BlockKind::pyramid;
  Real* res = w.block_res() + 3 * block;
  res[0] = dot(normal, velocity);
  res[1] = pyramid ? contact[7] * dot(tangent, velocity) : Real(0);
  res[2] = pyramid ? contact[11] * dot(cross(normal, tangent), velocity) : Real(0);
}

// The friction that a contact's regularisation follows. MuJoCo's D grows as friction^-2, to 1e10 at its least friction
// (mjMINMU). Single precision loses everything else in the Hessian beside that, so contacts of less friction are as
// soft there as those of .02: that moves the next velocity by some 1e-5.
SIM_HD float regular_friction(float friction) { return maximum(friction, 0.02f); }
SIM_HD double regular_friction(double friction) { return friction; }

// Regularisation D and -aref of every block: D = imp / ((1 - imp) invweight), aref = -damping velocity - stiffness imp
// distance. The edges of a pyramid share the regularisation that matches an elliptic cone (mj_makeImpedance).
template <class G, class M, class W>
SIM_HD void finish_blocks(const G& g, const M& m, const W& w, int blocks) {
  using Real = typename M::Real;
  g.for_each(blocks, [&](int b) {
    const Real* sol = m.sol + 8 * w.block_state()[b];
    const Real distance = w.block_dir()[3 * b];
    const Real imp = impedance(m, sol, distance);
    Real* res = w.block_res() + 3 * b;
    Real invweight = w.block_D()[b], scale = 1;
    res[0] = sol[kSolDamping] * res[0] + sol[kSolStiffness] * imp * distance;
    if (kind_of(w, b) == BlockKind::pyramid) {
      const Real friction = regular_friction(w.block_dir()[3 * b + 1]), square = friction * friction;
      invweight += square * invweight;
      scale = maximum(kTiny<Real>(), m.impratio) / (Real(2) * square);
      res[1] *= sol[kSolDamping];
      res[2] *= sol[kSolDamping];
    }
    w.block_D()[b] = scale / maximum(kTiny<Real>(), (Real(1) - imp) * invweight / imp);
  });
}

template <class G, class M, class W>
SIM_HD void contact_blocks(const G& g, const M& m, const W& w, int& blocks, int& rows) {
  const int first = blocks, wanted = w.counts()[kContacts];
  int made = 0, frictional = 0;
  if (wanted > 0) {
    made = place_contacts(g, m, w, first, rows);
    contact_rows(g, m, w, first, made);
    g.for_each(made, [&](int c) { contact_block(m, w, c, first + c); });
  }
  if (made > 0) {
    const int last = first + made - 1;
    const int end = index_of(w, last) + (kind_of(w, last) == BlockKind::pyramid ? 3 : 1);
    frictional = (end - rows - made) / 2;
    rows = end;
    blocks += made;
  }
  g.sync();  // without contacts some lanes may still be reading their number
  g.once([&] {
    w.counts()[kContactBlocks] = first;
    w.counts()[kContacts] = made;
    w.counts()[kScalars] = first + made + 3 * frictional;
    if (made < wanted) w.counts()[kStatus] |= kRowOverflow;
  });
}

template <class G, class M, class W>
SIM_HD void constraints(const G& g, const M& m, const W& w) {
  int blocks = 0, rows = 0;
  if (m.has_friction) friction_blocks(g, m, w, blocks, rows);
  if (m.has_limits) limit_blocks(g, m, w, blocks, rows);
  contact_blocks(g, m, w, blocks, rows);
  const int total = blocks, used = rows;
  finish_blocks(g, m, w, total);
  g.once([&] {
    w.counts()[kBlocks] = total;
    w.counts()[kRows] = used;
  });
}

}  // namespace hotloop
