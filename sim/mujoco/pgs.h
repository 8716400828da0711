// Projected Gauss-Seidel on MuJoCo's dual problem, iterate by iterate as mj_solPGS of MuJoCo 4.0: one edge of a pyramid
// at a time, in an order shuffled by a fixed PCG32 stream, with Nesterov momentum and adaptive restart.
//
// Two forms. Worlds with few edges hold the matrix A + R, A = J M^-1 J', and every edge's residual (pgs_matrix.h). The
// others keep qacc = qacc_smooth + M^-1 J' force up to date instead, so that the residual of an edge is one product
// with its row (pgs_rows.h).
#pragma once
#include "sim/mujoco/pgs_matrix.h"
#include "sim/mujoco/pgs_rows.h"

namespace hotloop {

// The blocks' forces, given the forces of a block's edges, four numbers each; then qfrc_constraint = J' force and
// qacc = qacc_smooth + M^-1 qfrc_constraint.
template <class G, class M, class W, class Edges>
SIM_HD void pgs_finish(const G& g, const M& m, const W& w, Edges edges) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  g.for_each(n, [&](int b) {
    const Real* f = edges(b);
    Real* out = w.block_force() + 3 * b;
    const bool scalar = edges_of(w, b) == 1;
    out[0] = scalar ? f[0] : f[0] + f[1] + f[2] + f[3];
    out[1] = scalar ? Real(0) : f[0] - f[1];
    out[2] = scalar ? Real(0) : f[2] - f[3];
  });
  g.for_each(m.nv, [&](int i) {
    Real sum = 0;
#pragma unroll 1
    for (int b = 0; b < n; ++b) {
      const Real* f = w.block_force() + 3 * b;
      const BlockKind kind = kind_of(w, b);
      const int index = index_of(w, b);
      if (is_dof_block(kind)) {
        if (index == i) sum += f[0] * dof_sign(w, b);
        continue;
      }
      const Real* r = w.J() + index * m.row + i;
      sum += kind == BlockKind::pyramid ? f[0] * r[0] + f[1] * r[m.row] + f[2] * r[2 * m.row] : f[0] * r[0];
    }
    w.qfrc_constraint()[i] = sum;
  });
  g.for_each(m.nv, [&](int i) {
    w.qacc()[i] = w.search()[i] + dot_row(inverse_mass(m, w) + i * m.row, w.qfrc_constraint(), m.nv);
  });
}

// w.qacc() and the blocks' forces, from w.qacc_warmstart().
template <int N, class G, class M, class W>
SIM_HD void pgs(const G& g, const M& m, const W& w) {
  const typename M::Real scale = cost_scale(g, m, w);
  invert<N>(g, m.nv, w.M(), m.row, w.pgs_space(), inverse_mass(m, w));
  g.for_each(m.nv, [&](int i) { w.search()[i] = dot_row(inverse_mass(m, w) + i * m.row, w.qfrc_smooth(), m.nv); });
  const int edges = count_edges(g, w);
  int iterations = 0;
  if (edges <= m.max_edges) {
    const PgsMatrix at(m);
    iterations = pgs_by_matrix(g, m, w, at, edges, scale);
    pgs_finish(g, m, w, [&](int b) { return w.pgs_space() + at.forces + w.pgs_first()[b]; });
  } else {
    const PgsRows at(m);
    iterations = pgs_by_rows(g, m, w, at, edges, scale);
    pgs_finish(g, m, w, [&](int b) { return w.pgs_space() + at.force + 4 * b; });
  }
  g.once([&] { w.counts()[kIterations] = iterations; });
}

}  // namespace hotloop
