// The acceleration that minimises MuJoCo's primal cost
//   1/2 (a - a_smooth)' M (a - a_smooth) + sum over constraints of s(J a - aref)
// by Newton's method with an exact line search (mj_solNewton; the minimum is unique, so that the solution is compared,
// not the path to it). The cost is quadratic on each set of active constraints, so that a full step which keeps the set
// has found the minimum.
#pragma once
#include "sim/mujoco/constraint.h"
#include "sim/mujoco/linear_solve.h"

namespace hotloop {

// Cost, gradient and curvature of one block at residual y: force = -ds/dy, W = d2s/dy2 (w12 is zero).
template <class Real>
struct BlockState {
  Real f0, f1, f2, w00, w01, w02, w11, w22, cost;
  int active;  // bit per edge, or where on the friction law it is
};

template <class Real>
SIM_HD BlockState<Real> scalar_state(BlockKind kind, Real D, Real limit, Real y) {
  BlockState<Real> s{};
  const bool friction = kind == BlockKind::dof_friction || kind == BlockKind::row_friction;
  const Real bound = friction ? limit / D : Real(0);
  if (friction && absolute(y) >= bound) {
    s.f0 = y > Real(0) ? -limit : limit;
    s.cost = limit * (absolute(y) - Real(0.5) * bound);
    s.active = y > Real(0) ? 2 : 4;
  } else if (friction || y < Real(0)) {
    s.f0 = -D * y;
    s.w00 = D;
    s.cost = Real(0.5) * D * y * y;
    s.active = 1;
  }
  return s;
}

template <class Real>
SIM_HD BlockState<Real> pyramid_state(Real D, Real y0, Real y1, Real y2) {
  const Real e0 = y0 + y1, e1 = y0 - y1, e2 = y0 + y2, e3 = y0 - y2;
  const Real d0 = e0 < Real(0) ? D : Real(0), d1 = e1 < Real(0) ? D : Real(0);
  const Real d2 = e2 < Real(0) ? D : Real(0), d3 = e3 < Real(0) ? D : Real(0);
  const Real a0 = d0 * e0, a1 = d1 * e1, a2 = d2 * e2, a3 = d3 * e3;
  BlockState<Real> s;
  s.f0 = -(a0 + a1 + a2 + a3);
  s.f1 = a1 - a0;
  s.f2 = a3 - a2;
  s.w00 = d0 + d1 + d2 + d3;
  s.w01 = d0 - d1;
  s.w02 = d2 - d3;
  s.w11 = d0 + d1;
  s.w22 = d2 + d3;
  s.cost = Real(0.5) * (a0 * e0 + a1 * e1 + a2 * e2 + a3 * e3);
  s.active = (e0 < Real(0) ? 1 : 0) | (e1 < Real(0) ? 2 : 0) | (e2 < Real(0) ? 4 : 0) | (e3 < Real(0) ? 8 : 0);
  return s;
}

// State of block b a fraction `step` along its direction.
template <class W, class Real>
SIM_HD BlockState<Real> block_state(const W& w, int b, Real step) {
  const BlockKind kind = kind_of(w, b);
  const Real* y = w.block_res() + 3 * b;
  const Real* d = w.block_dir() + 3 * b;
  const Real D = w.block_D()[b];
  if (kind == BlockKind::pyramid) return pyramid_state(D, y[0] + step * d[0], y[1] + step * d[1], y[2] + step * d[2]);
  return scalar_state(kind, D, y[2], y[0] + step * d[0]);
}

SIM_HD bool is_dof_block(BlockKind kind) { return kind == BlockKind::dof_friction || kind == BlockKind::dof_limit; }

// out[3 b ...] += J vector for every block.
template <class G, class M, class W, class Real>
SIM_HD void add_products(const G& g, const M& m, const W& w, const Real* vector, Real* out, bool add) {
  g.for_each(w.counts()[kBlocks], [&](int b) {
    const BlockKind kind = kind_of(w, b);
    const int row = index_of(w, b);
    Real y[3] = {0, 0, 0};
    if (kind == BlockKind::dof_friction)
      y[0] = vector[row];
    else if (kind == BlockKind::dof_limit)
      y[0] = limit_of(w, b) * vector[row];
    else
      y[0] = row_dot(m, w, row, vector);
    if (kind == BlockKind::pyramid) {
      y[1] = row_dot(m, w, row + 1, vector);
      y[2] = row_dot(m, w, row + 2, vector);
    }
    for (int k = 0; k < 3; ++k) out[3 * b + k] = add ? out[3 * b + k] + y[k] : y[k];
  });
}

// Forces and active sets of all blocks at the current residuals; the dof blocks' are summed per dof. Returns their
// cost.
template <class G, class M, class W>
SIM_HD typename M::Real evaluate_blocks(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  g.for_each(m.nv, [&](int i) { w.dof_force()[i] = w.dof_stiff()[i] = 0; });
  const Real cost = g.template reduce<Real>(n, [&](int b) {
    const BlockState<Real> s = block_state(w, b, Real(0));
    Real* f = w.block_force() + 3 * b;
    f[0] = s.f0;
    f[1] = s.f1;
    f[2] = s.f2;
    w.block_state()[b] = s.active;
    return s.cost;
  });
  g.sync();
  const auto book = [&](int b) {
    const int i = index_of(w, b);
    const Real sign = kind_of(w, b) == BlockKind::dof_limit ? limit_of(w, b) : Real(1);
    w.dof_force()[i] += sign * w.block_force()[3 * b];
    w.dof_stiff()[i] += w.block_state()[b] == 1 ? w.block_D()[b] : Real(0);
  };
  // a dof has one friction block and at most two limit blocks, which are neighbours: no two lanes write one dof
  if (m.nfriction > 0)
    g.for_each(n, [&](int b) {
      if (kind_of(w, b) == BlockKind::dof_friction) book(b);
    });
  if (!m.has_limits) return cost;
  g.for_each(n, [&](int b) {
    if (kind_of(w, b) != BlockKind::dof_limit) return;
    if (b > 0 && w.block_code()[b - 1] == w.block_code()[b]) return;
    book(b);
    if (b + 1 < n && w.block_code()[b + 1] == w.block_code()[b]) book(b + 1);
  });
  return cost;
}

// The blocks of dof friction come first; they have no rows.
template <class M>
SIM_HD int first_row_block(const M& m) {
  return m.has_friction ? m.nfriction : 0;
}

// Adds J' W J of one block to row i of the Hessian, and its share of the forces to `force`.
template <int N, class M, class W>
SIM_HD void add_block(const M& m, const W& w, int b, int i, typename M::Real* h, typename M::Real& force) {
  using Real = typename M::Real;
  const Real D = w.block_D()[b];
  const Real* f = w.block_force() + 3 * b;
  const int active = w.block_state()[b];
  const Real* row = w.J() + index_of(w, b) * m.row;
  if (kind_of(w, b) != BlockKind::pyramid) {
    force += f[0] * row[i];
    if (active != 1) return;
    const Real t = D * row[i];
    each_in_row<N>(row, m.row, [&](int j, Real value) { h[j] += t * value; });
    return;
  }
  const Real d0 = (active & 1) != 0 ? D : Real(0), d1 = (active & 2) != 0 ? D : Real(0);
  const Real d2 = (active & 4) != 0 ? D : Real(0), d3 = (active & 8) != 0 ? D : Real(0);
  const Real j0 = row[i], j1 = row[m.row + i], j2 = row[2 * m.row + i];
  force += f[0] * j0 + f[1] * j1 + f[2] * j2;
  const Real t0 = (d0 + d1 + d2 + d3) * j0 + (d0 - d1) * j1 + (d2 - d3) * j2;
  const Real t1 = (d0 - d1) * j0 + (d0 + d1) * j1;
  const Real t2 = (d2 - d3) * j0 + (d2 + d3) * j2;
  each_in_row<N>(row, m.row, [&](int j, Real value) { h[j] += t0 * value; });
  each_in_row<N>(row + m.row, m.row, [&](int j, Real value) { h[j] += t1 * value; });
  each_in_row<N>(row + 2 * m.row, m.row, [&](int j, Real value) { h[j] += t2 * value; });
}

// Adds J' W J of one active block to the lower triangle of the Hessian (rows of N elements), and its forces to `right`.
template <int N, class M, class W>
SIM_HD void add_to_system(const M& m, const W& w, int b, typename M::Real* h, typename M::Real* right) {
  using Real = typename M::Real;
  const Real D = w.block_D()[b];
  const Real* f = w.block_force() + 3 * b;
  const int active = w.block_state()[b];
  const Real* row0 = w.J() + index_of(w, b) * m.row;
  const bool pyramid = kind_of(w, b) == BlockKind::pyramid;
  const auto weight = [&](int bit) { return (active >> bit & 1) != 0 ? D : Real(0); };
  const Real d0 = weight(0), d1 = weight(1), d2 = weight(2), d3 = weight(3);
  const Real w00 = pyramid ? d0 + d1 + d2 + d3 : d0, w01 = d0 - d1, w02 = d2 - d3, w11 = d0 + d1, w22 = d2 + d3;
  for (int i = 0; i < m.nv; ++i) {
    const Real j0 = row0[i];
    Real* target = h + i * N;
    if (!pyramid) {
      right[i] += f[0] * j0;
      if (j0 != Real(0)) add_scaled<4>(target, row0, w00 * j0, i + 1);
      continue;
    }
    const Real *row1 = row0 + m.row, *row2 = row1 + m.row;
    const Real j1 = row1[i], j2 = row2[i];
    if (j0 == Real(0) && j1 == Real(0) && j2 == Real(0)) continue;
    right[i] += f[0] * j0 + f[1] * j1 + f[2] * j2;
    add_scaled<4>(target, row0, w00 * j0 + w01 * j1 + w02 * j2, i + 1);
    add_scaled<4>(target, row1, w01 * j0 + w11 * j1, i + 1);
    add_scaled<4>(target, row2, w02 * j0 + w22 * j2, i + 1);
  }
}

// Row i of the Hessian M + J' W J into h, and minus the gradient into right.
template <int N, class M, class W>
SIM_HD void hessian_row(const M& m, const W& w, int i, typename M::Real* h, typename M::Real& right) {
  using Real = typename M::Real;
  const Real stiff = w.dof_stiff()[i];
  each_in_row<N>(w.M() + i * m.row, m.row, [&](int j, Real value) { h[j] = value + (j == i ? stiff : Real(0)); });
  Real force = w.qfrc_smooth()[i] - w.Ma()[i] + w.dof_force()[i];
  // rows of ball limits and tendons, then contacts: worlds that share a warp are at their contacts at the same time
  const int contacts = w.counts()[kContactBlocks], n = w.counts()[kContacts];
  if (m.has_tendon_rows || m.has_ball_limits)
#pragma unroll 1
    for (int b = first_row_block(m); b < contacts; ++b)
      if (!is_dof_block(kind_of(w, b))) add_block<N>(m, w, b, i, h, force);
#pragma unroll 1
  for (int c = 0; c < n; ++c)
    if (w.block_state()[contacts + c] != 0) add_block<N>(m, w, contacts + c, i, h, force);
  right = force;
}

// What improvements and gradients are scaled with before they are compared with the tolerance: the trace of M (MuJoCo
// 3 took the mean of its diagonal at qpos0; 4.0 takes the current one).
template <class G, class M, class W>
SIM_HD typename M::Real cost_scale(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real trace = g.template reduce<Real>(m.nv, [&](int i) { return w.M()[i * m.row + i]; });
  return Real(1) / maximum(trace, kTiny<Real>());
}

// out = M vector
template <class G, class M, class W, class Real>
SIM_HD void mass_product(const G& g, const M& m, const W& w, const Real* vector, Real* out) {
  if constexpr (G::kSerial) {  // M is symmetric: row by row into all of `out` at once
    for (int i = 0; i < m.row; ++i) out[i] = 0;
    for (int j = 0; j < m.nv; ++j) add_scaled<4>(out, w.M() + j * m.row, vector[j], m.row);
  } else {
    g.for_each(m.nv, [&](int i) { out[i] = dot_row(w.M() + i * m.row, vector, m.nv); });
  }
}

template <class Real>
struct LineStep {
  Real step;
  bool exact;  // the full Newton step, and the active set stayed: the minimum of the whole cost
};

// The minimum along the search direction. slope and curvature: of the part without constraints.
template <class G, class M, class W>
SIM_HD LineStep<typename M::Real> line_search(const G& g, const M& m, const W& w, typename M::Real slope,
                                              typename M::Real curvature) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  Real step = 1, low = 0, high = -1;
#pragma unroll 1
  for (int it = 0; it < m.ls_iterations; ++it) {
    // along the direction: first and second derivative, and how many blocks left the set that `step` was computed from
    const Vec3<Real> sum = g.template reduce<Vec3<Real>>(n, [&](int b) {
      const BlockState<Real> s = block_state(w, b, step);
      const Real* d = w.block_dir() + 3 * b;
      const Real changed = s.active != w.block_state()[b] ? Real(1) : Real(0);
      w.block_state()[b] = s.active;
      return Vec3<Real>{
          -(s.f0 * d[0] + s.f1 * d[1] + s.f2 * d[2]),
          d[0] * (s.w00 * d[0] + Real(2) * (s.w01 * d[1] + s.w02 * d[2])) + s.w11 * d[1] * d[1] + s.w22 * d[2] * d[2],
          changed};
    });
    if (sum.z == Real(0)) return {step, it == 0};
    const Real first = sum.x + slope + step * curvature, second = sum.y + curvature;
    if (first < Real(0))
      low = step;
    else
      high = step;
    Real next = step - first / second;
    if (next <= low || (high >= Real(0) && next >= high)) {
      next = high >= Real(0) ? Real(0.5) * (low + high) : Real(2) * step;
      // the set at `next` follows from no quadratic model: it cannot prove `next` a minimum
      g.for_each(n, [&](int b) { w.block_state()[b] = -1; });
      if (high >= Real(0) && high - low < Real(1e-6) * high) return {next, false};
    }
    if (absolute(next - step) <= Real(sizeof(Real) == 4 ? 1e-7 : 1e-15) * step) return {next, false};
    step = next;
  }
  return {step, false};
}

// qfrc_constraint = J' force of the blocks.
template <class G, class M, class W>
SIM_HD void constraint_forces(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  g.for_each(m.nv, [&](int i) {
    Real force = w.dof_force()[i];
#pragma unroll 1
    for (int b = first_row_block(m); b < n; ++b) {
      if (is_dof_block(kind_of(w, b))) continue;
      const Real* f = w.block_force() + 3 * b;
      const Real* row = w.J() + index_of(w, b) * m.row + i;
      force += f[0] * row[0];
      if (kind_of(w, b) == BlockKind::pyramid) force += f[1] * row[m.row] + f[2] * row[2 * m.row];
    }
    w.qfrc_constraint()[i] = force;
  });
}

// w.search() = the Newton direction.
template <int N, class G, class M, class W>
SIM_HD void newton_direction(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  solve<N>(
      g, m.nv, w.H(), m.row + 4, w.solve_rows(),
      [&](int i, Real* h, Real& right) { hessian_row<N>(m, w, i, h, right); }, w.search());
}

// On the CPU: block by block instead of row by row, the lower triangle only, and no work for what is zero.
template <int N, int L, class M, class W>
SIM_HD void newton_direction(const SerialGroup<L>&, const M& m, const W& w) {
  using Real = typename M::Real;
  alignas(32) Real h[N * N];
  Real* right = w.search();
  for (int i = 0; i < m.nv; ++i) {
    for (int j = 0; j < m.row; ++j) h[i * N + j] = w.M()[i * m.row + j];
    for (int j = m.row; j < (m.nv + 7) / 8 * 8; ++j) h[i * N + j] = 0;
    h[i * N + i] += w.dof_stiff()[i];
    right[i] = w.qfrc_smooth()[i] - w.Ma()[i] + w.dof_force()[i];
  }
  for (int b = first_row_block(m); b < w.counts()[kBlocks]; ++b)
    if (!is_dof_block(kind_of(w, b)) && w.block_state()[b] != 0) add_to_system<N>(m, w, b, h, right);
  factor_and_solve<N>(m.nv, h, right);
}

// One Newton step: direction, line search, and the move along it. Returns the step; fall: by how much the cost without
// the blocks' part falls.
template <int N, class G, class M, class W>
SIM_HD LineStep<typename M::Real> newton_step(const G& g, const M& m, const W& w, typename M::Real& fall) {
  using Real = typename M::Real;
  newton_direction<N>(g, m, w);
  add_products(g, m, w, w.search(), w.block_dir(), false);
  mass_product(g, m, w, w.search(), w.Mv());
  const Vec2<Real> sums = g.template reduce<Vec2<Real>>(m.nv, [&](int i) {
    const Real s = w.search()[i];
    return Vec2<Real>{s * (w.Ma()[i] - w.qfrc_smooth()[i]), s * w.Mv()[i]};
  });
  const LineStep<Real> line = line_search(g, m, w, sums.x, sums.y);
  fall = -line.step * (sums.x + Real(0.5) * line.step * sums.y);
  g.for_each(m.nv, [&](int i) {
    w.qacc()[i] += line.step * w.search()[i];
    w.Ma()[i] += line.step * w.Mv()[i];
  });
  g.for_each(3 * w.counts()[kBlocks], [&](int k) { w.block_res()[k] += line.step * w.block_dir()[k]; });
  return line;
}

// w.qacc() from w.qacc_warmstart(). forces: also qfrc_constraint and the blocks' forces. N >= nv.
template <int N, class G, class M, class W>
SIM_HD void newton(const G& g, const M& m, const W& w, bool forces) {
  using Real = typename M::Real;
  const Real scale = cost_scale(g, m, w);
  const Real tolerance = maximum(m.tolerance, Real(sizeof(Real) == 4 ? 1e-6 : 0));
  g.for_each(m.nv, [&](int i) { w.qacc()[i] = m.has_warmstart ? w.qacc_warmstart()[i] : Real(0); });
  mass_product(g, m, w, w.qacc(), w.Ma());
  add_products(g, m, w, w.qacc(), w.block_res(), true);
  int iteration = 0;
  Real cost = 0, fall = 0;
  bool exact = false;
  while (true) {
    const Real now = evaluate_blocks(g, m, w);
    const bool small = iteration > 0 && (cost - now + fall) * scale < tolerance;
    if (exact || small || iteration >= m.iterations) break;
    cost = now;
    exact = newton_step<N>(g, m, w, fall).exact;
    ++iteration;
    if (exact && !forces) break;
  }
  if (forces) constraint_forces(g, m, w);
  g.once([&] { w.counts()[kIterations] = iteration; });
}

}  // namespace hotloop
