// PGS without the matrix, for worlds with many edges: qacc = qacc_smooth + M^-1 J' force is kept up to date, and the
// residual of an edge is one product with its row.
#pragma once
#include "sim/mujoco/pgs_edges.h"
#include "sim/mujoco/sweep_order.h"

namespace hotloop {

// Entry i of the row of an edge, in J (inverse: false) or in J M^-1. Dof blocks have no rows: theirs follow from M^-1.
template <class M, class W>
SIM_HD typename M::Real edge_entry(const M& m, const W& w, int code, int i, bool inverse) {
  using Real = typename M::Real;
  const int block = code / 4, index = index_of(w, block);
  const BlockKind kind = kind_of(w, block);
  if (is_dof_block(kind))
    return dof_sign(w, block) * (inverse ? inverse_mass(m, w)[index * m.row + i] : Real(i == index ? 1 : 0));
  const Real* r = (inverse ? w.pgs_space() : w.J()) + index * m.row + i;
  return kind != BlockKind::pyramid ? r[0] : edge_value(code % 4, 4, r[0], r[m.row], r[2 * m.row]);
}

// qacc = qacc_smooth + M^-1 J' force. qacc_smooth lies in w.search().
template <class G, class M, class W>
SIM_HD void pgs_acceleration(const G& g, const M& m, const W& w, const PgsRows& at) {
  using Real = typename M::Real;
  const Real* force = w.pgs_space() + at.force;
  const int n = w.counts()[kBlocks];
  g.for_each(m.nv, [&](int i) {
    Real sum = w.search()[i];
#pragma unroll 1
    for (int b = 0; b < n; ++b) {
      const int edges = edges_of(w, b);
      for (int k = 0; k < edges; ++k) sum += force[4 * b + k] * edge_entry(m, w, 4 * b + k, i, true);
    }
    w.qacc()[i] = sum;
  });
}

// The rows of J M^-1, and the diagonal of A + R for each edge.
template <class G, class M, class W>
SIM_HD void pgs_rows(const G& g, const M& m, const W& w, const PgsRows& at) {
  using Real = typename M::Real;
  const int rows = w.counts()[kRows];
  g.for_each(m.nv, [&](int i) {
#pragma unroll 1
    for (int r = 0; r < rows; ++r)
      w.pgs_space()[r * m.row + i] = dot_row(inverse_mass(m, w) + i * m.row, w.J() + r * m.row, m.nv);
  });
  Real* diagonal = w.pgs_space() + at.diagonal;
  g.for_each(w.counts()[kBlocks], [&](int b) {
    const int edges = edges_of(w, b);
    for (int k = 0; k < edges; ++k) {
      Real sum = Real(1) / w.block_D()[b];
#pragma unroll 1
      for (int i = 0; i < m.nv; ++i)
        sum += edge_entry(m, w, 4 * b + k, i, false) * edge_entry(m, w, 4 * b + k, i, true);
      diagonal[4 * b + k] = sum;
    }
  });
}

// The sum of value(edge's code, y, d) over all edges; y: the edge's -aref, d: its product with `vector`.
template <class G, class M, class W, class Real, class Value>
SIM_HD Real sum_edges(const G& g, const M& m, const W& w, const Real* vector, Value value) {
  add_products(g, m, w, vector, w.block_dir(), false);
  const Real sum = g.template reduce<Real>(w.counts()[kBlocks], [&](int b) {
    const Real* y = w.block_res() + 3 * b;
    const Real* d = w.block_dir() + 3 * b;
    const int edges = edges_of(w, b);
    Real part = 0;
    for (int k = 0; k < edges; ++k)
      part += value(4 * b + k, edge_value(k, edges, y[0], y[1], y[2]), edge_value(k, edges, d[0], d[1], d[2]));
    return part;
  });
  g.sync();
  return sum;
}

// Forces of the primal solution at qacc_warmstart, or zero where those are worse: where
// 1/2 f' (A + R) f + f' b > 0, with b = J qacc_smooth - aref and A f = J (qacc - qacc_smooth).
template <class G, class M, class W>
SIM_HD void pgs_warm_start(const G& g, const M& m, const W& w, const PgsRows& at) {
  using Real = typename M::Real;
  const int n = 4 * w.counts()[kBlocks];
  Real* force = w.pgs_space() + at.force;
  g.for_each(n, [&](int e) { force[e] = 0; });
  if (!m.has_warmstart) return;
  sum_edges(g, m, w, w.qacc_warmstart(), [&](int e, Real y, Real d) {
    force[e] = project(m, bound_of(w, e / 4), -w.block_D()[e / 4] * (y + d));
    return Real(0);
  });
  pgs_acceleration(g, m, w, at);
  Real cost = sum_edges(g, m, w, w.search(), [&](int e, Real y, Real d) {
    return force[e] * (Real(0.5) * d + y + Real(0.5) * force[e] / w.block_D()[e / 4]);
  });
  cost += sum_edges(g, m, w, w.qacc(), [&](int e, Real, Real d) { return Real(0.5) * force[e] * d; });
  if (cost > Real(0)) g.for_each(n, [&](int e) { force[e] = 0; });
}

// One edge: the force that minimises the dual cost, the others held. Returns the improvement.
template <class G, class M, class W>
SIM_HD typename M::Real pgs_row_edge(const G& g, const M& m, const W& w, const PgsRows& at, int code) {
  using Real = typename M::Real;
  const int b = code / 4;
  Real* force = w.pgs_space() + at.force;
  const Real* y = w.block_res() + 3 * b;
  const Real product =
      is_dof_block(kind_of(w, b))
          ? dof_sign(w, b) * w.qacc()[index_of(w, b)]
          : g.template reduce<Real>(m.nv, [&](int i) { return edge_entry(m, w, code, i, false) * w.qacc()[i]; });
  const Real old = force[code];
  const Real residual = product + edge_value(code % 4, edges_of(w, b), y[0], y[1], y[2]) + old / w.block_D()[b];
  const Real diagonal = w.pgs_space()[at.diagonal + code];
  const Real next = project(m, bound_of(w, b), old - residual * (Real(1) / diagonal));
  const Real step = next - old;
  const Real change = Real(0.5) * step * step * diagonal + step * residual;
  g.sync();
  if (change > Real(1e-10)) return Real(0);
  g.for_each(m.nv, [&](int i) { w.qacc()[i] += step * edge_entry(m, w, code, i, true); });
  g.once([&] { force[code] = next; });
  return -change;
}

// The iterations. Returns their number; the forces lie in pgs_space(). scale: of cost_scale.
template <class G, class M, class W, class Real>
SIM_HD int pgs_by_rows(const G& g, const M& m, const W& w, const PgsRows& at, int edges, Real scale) {
  pgs_rows(g, m, w, at);
  pgs_warm_start(g, m, w, at);
  pgs_acceleration(g, m, w, at);
  Real* force = w.pgs_space() + at.force;
  Real* previous = w.pgs_space() + at.previous;
  Real* start = w.pgs_space() + at.momentum;
  int* order = reinterpret_cast<int*>(w.pgs_space() + at.order);
  const int blocks = w.counts()[kBlocks];
  g.for_each(blocks, [&](int b) {
    const int count = edges_of(w, b);
    for (int k = 0; k < count; ++k) order[w.pgs_first()[b] + k] = 4 * b + k;
  });
  SweepRandom random;
  int iteration = 0, age = 0;
#pragma unroll 1
  while (iteration < m.iterations && edges > 0) {
    const Real beta = iteration > 0 ? Real(age - 1) / Real(age + 2) : Real(0);
    g.for_each(4 * blocks, [&](int e) {
      const Real now = force[e];
      if (beta > Real(0)) force[e] = project(m, bound_of(w, e / 4), now + beta * (now - previous[e]));
      previous[e] = now;
      start[e] = force[e];
    });
    if (beta > Real(0)) pgs_acceleration(g, m, w, at);
    g.once([&] { shuffle_order(order, random, edges); });
    Real gain = 0;
#pragma unroll 1
    for (int i = 0; i < edges; ++i) gain += pgs_row_edge(g, m, w, at, order[i]);
    const Real against =
        g.template reduce<Real>(4 * blocks, [&](int e) { return (force[e] - start[e]) * (start[e] - previous[e]); });
    g.sync();
    age = iteration > 0 && against < Real(0) ? 0 : age + 1;
    ++iteration;
    if (gain * scale < m.tolerance) break;
  }
  return iteration;
}

}  // namespace hotloop
