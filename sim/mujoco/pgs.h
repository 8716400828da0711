// Projected Gauss-Seidel on MuJoCo's dual problem, iterate by iterate as mj_solPGS of MuJoCo 4.0: one edge of a pyramid
// at a time, in an order shuffled by a fixed PCG32 stream, with Nesterov momentum and adaptive restart.
//
// The matrix A = J M^-1 J' is never formed: qacc = qacc_smooth + M^-1 J' force is kept up to date instead, so that the
// residual of an edge is one product with its row. An edge's code is 4 block + k: k = 0, 1 for row 0 +- row 1, 2, 3 for
// row 0 +- row 2, and 0 for a scalar block.
#pragma once
#include "sim/mujoco/newton.h"

namespace hotloop {

// The arrays in pgs_force, each [4 max_blocks] by edge code.
enum PgsVector : int { kPgsForce, kPgsPrevious, kPgsMomentum, kPgsDiagonal };

template <class M, class W>
SIM_HD typename M::Real* pgs_vector(const M& m, const W& w, PgsVector which) {
  return w.pgs_force() + static_cast<int>(which) * 4 * m.max_blocks;
}

// MuJoCo's random stream for the order of the sweep: PCG32 (M. O'Neill, 2014), seeded as there.
struct SweepRandom {
  unsigned long long state = 1;  // one step from state 0 with increment 1
  SIM_HD unsigned next() {
    const unsigned long long old = state;
    state = old * 6364136223846793005ULL + 1ULL;
    const auto mixed = static_cast<unsigned>(((old >> 18U) ^ old) >> 27U);
    const auto turn = static_cast<unsigned>(old >> 59U);
    return (mixed >> turn) | (mixed << ((32U - turn) & 31U));
  }
};

template <class W>
SIM_HD int edges_of(const W& w, int block) {
  return kind_of(w, block) == BlockKind::pyramid ? 4 : 1;
}

// Value of an edge, given the values of its block's three rows.
template <class Real>
SIM_HD Real edge_value(int k, int edges, Real v0, Real v1, Real v2) {
  if (edges == 1) return v0;
  return k == 0 ? v0 + v1 : k == 1 ? v0 - v1 : k == 2 ? v0 + v2 : v0 - v2;
}

// M^-1 in w.H(), qacc_smooth in w.search(), and the rows of J M^-1 in w.MinvJ(). One column a lane.
template <int N, class G, class M, class W>
SIM_HD void inverse_rows(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  invert<N>(g, m.nv, w.M(), m.row, w.solve_rows(), w.H());
  const int rows = w.counts()[kRows];
  g.for_each(m.nv, [&](int i) {
    Real column[N];  // of M^-1: its row, as it is symmetric
    each_in_row<N>(w.H() + i * m.row, m.row, [&](int j, Real v) { column[j] = v; });
    Real smooth = 0;
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j < m.nv) smooth += column[j] * w.qfrc_smooth()[j];
    w.search()[i] = smooth;
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
      Real sum = 0;
      each_in_row<N>(w.J() + r * m.row, m.row, [&](int j, Real v) {
        if (j < m.nv) sum += column[j] * v;
      });
      w.MinvJ()[r * m.row + i] = sum;
    }
  });
}

// Entry i of the row of an edge, in J (inverse: false) or in J M^-1. Dof blocks have no rows: theirs follow from M^-1.
template <class M, class W>
SIM_HD typename M::Real edge_entry(const M& m, const W& w, int block, int k, int i, bool inverse) {
  using Real = typename M::Real;
  const BlockKind kind = kind_of(w, block);
  const int index = index_of(w, block);
  if (is_dof_block(kind)) {
    const Real sign = kind == BlockKind::dof_limit ? limit_of(w, block) : Real(1);
    return sign * (inverse ? w.H()[index * m.row + i] : Real(i == index ? 1 : 0));
  }
  const Real* r = (inverse ? w.MinvJ() : w.J()) + index * m.row + i;
  return kind != BlockKind::pyramid ? r[0] : edge_value(k, 4, r[0], r[m.row], r[2 * m.row]);
}

// qacc = qacc_smooth + M^-1 J' force. qacc_smooth lies in w.search().
template <class G, class M, class W>
SIM_HD void pgs_acceleration(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real* force = pgs_vector(m, w, kPgsForce);
  const int n = w.counts()[kBlocks];
  g.for_each(m.nv, [&](int i) {
    Real sum = w.search()[i];
#pragma unroll 1
    for (int b = 0; b < n; ++b) {
      const Real* f = force + 4 * b;
      const BlockKind kind = kind_of(w, b);
      if (kind == BlockKind::pyramid) {
        const Real* r = w.MinvJ() + index_of(w, b) * m.row + i;
        sum += (f[0] + f[1] + f[2] + f[3]) * r[0] + (f[0] - f[1]) * r[m.row] + (f[2] - f[3]) * r[2 * m.row];
      } else {
        sum += f[0] * edge_entry(m, w, b, 0, i, true);
      }
    }
    w.qacc()[i] = sum;
  });
}

// Diagonal of A + R for each edge.
template <class G, class M, class W>
SIM_HD void pgs_diagonal(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  Real* diagonal = pgs_vector(m, w, kPgsDiagonal);
  g.for_each(w.counts()[kBlocks], [&](int b) {
    const Real R = Real(1) / w.block_D()[b];
    const int edges = edges_of(w, b);
    for (int k = 0; k < edges; ++k) {
      Real sum = R;
#pragma unroll 1
      for (int i = 0; i < m.nv; ++i) sum += edge_entry(m, w, b, k, i, false) * edge_entry(m, w, b, k, i, true);
      diagonal[4 * b + k] = sum;
    }
  });
}

// Force limits of an edge: friction losses are two-sided, everything else pushes only.
template <class W, class Real>
SIM_HD Real project(const W& w, int block, Real force) {
  if (kind_of(w, block) == BlockKind::row_friction) return clamp(force, -limit_of(w, block), limit_of(w, block));
  return maximum(force, Real(0));
}

// Forces of the primal solution at qacc_warmstart, or zero where those are worse.
template <class G, class M, class W>
SIM_HD void pgs_warm_start(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  Real* force = pgs_vector(m, w, kPgsForce);
  g.for_each(4 * n, [&](int e) { force[e] = 0; });
  if (!m.has_warmstart) return;
  add_products(g, m, w, w.qacc_warmstart(), w.block_dir(), false);
  g.for_each(n, [&](int b) {
    const Real* y = w.block_res() + 3 * b;
    const Real* d = w.block_dir() + 3 * b;
    const int edges = edges_of(w, b);
    for (int k = 0; k < edges; ++k) {
      const Real value = edge_value(k, edges, y[0] + d[0], y[1] + d[1], y[2] + d[2]);
      force[4 * b + k] = project(w, b, -w.block_D()[b] * value);
    }
  });
  pgs_acceleration(g, m, w);
  // 1/2 f' (A + R) f + f' b, with b = J qacc_smooth - aref and A f = J (qacc - qacc_smooth)
  add_products(g, m, w, w.search(), w.block_dir(), false);
  Real cost = g.template reduce<Real>(n, [&](int b) {
    Real sum = 0;
    const int edges = edges_of(w, b);
    const Real* y = w.block_res() + 3 * b;
    const Real* d = w.block_dir() + 3 * b;
    for (int k = 0; k < edges; ++k)
      sum +=
          force[4 * b + k] * (Real(0.5) * edge_value(k, edges, d[0], d[1], d[2]) +
                              edge_value(k, edges, y[0], y[1], y[2]) + Real(0.5) * force[4 * b + k] / w.block_D()[b]);
    return sum;
  });
  g.sync();
  add_products(g, m, w, w.qacc(), w.block_dir(), false);
  cost += g.template reduce<Real>(n, [&](int b) {
    Real sum = 0;
    const int edges = edges_of(w, b);
    const Real* d = w.block_dir() + 3 * b;
    for (int k = 0; k < edges; ++k) sum += Real(0.5) * force[4 * b + k] * edge_value(k, edges, d[0], d[1], d[2]);
    return sum;
  });
  g.sync();
  if (cost > Real(0)) g.for_each(4 * n, [&](int e) { force[e] = 0; });
}

// One edge: the force that minimises the dual cost, the others held. Returns the improvement.
template <class G, class M, class W>
SIM_HD typename M::Real pgs_edge(const G& g, const M& m, const W& w, int code) {
  using Real = typename M::Real;
  const int b = code / 4, k = code % 4, edges = edges_of(w, b);
  Real* force = pgs_vector(m, w, kPgsForce);
  const Real* y = w.block_res() + 3 * b;
  const BlockKind kind = kind_of(w, b);
  const Real product =
      is_dof_block(kind)
          ? (kind == BlockKind::dof_limit ? limit_of(w, b) : Real(1)) * w.qacc()[index_of(w, b)]
          : g.template reduce<Real>(m.nv, [&](int i) { return edge_entry(m, w, b, k, i, false) * w.qacc()[i]; });
  const Real old = force[code];
  const Real residual = product + edge_value(k, edges, y[0], y[1], y[2]) + old / w.block_D()[b];
  const Real diagonal = pgs_vector(m, w, kPgsDiagonal)[code];
  Real next = project(w, b, old - residual * (Real(1) / diagonal));
  const Real delta = next - old;
  Real change = Real(0.5) * delta * delta * diagonal + delta * residual;
  g.sync();
  if (change > Real(1e-10)) return Real(0);
  g.for_each(m.nv, [&](int i) { w.qacc()[i] += delta * edge_entry(m, w, b, k, i, true); });
  g.once([&] { force[code] = next; });
  return -change;
}

// Extrapolates the forces by their last change times beta.
template <class G, class M, class W>
SIM_HD void pgs_extrapolate(const G& g, const M& m, const W& w, typename M::Real beta) {
  using Real = typename M::Real;
  Real* force = pgs_vector(m, w, kPgsForce);
  Real* previous = pgs_vector(m, w, kPgsPrevious);
  Real* momentum = pgs_vector(m, w, kPgsMomentum);
  g.for_each(4 * w.counts()[kBlocks], [&](int e) {
    const Real now = force[e];
    if (beta > Real(0)) force[e] = project(w, e / 4, now + beta * (now - previous[e]));
    previous[e] = now;
    momentum[e] = force[e];
  });
  if (beta > Real(0)) pgs_acceleration(g, m, w);
}

// Fills w.pgs_order() with the codes of all edges; returns their number.
template <class G, class M, class W>
SIM_HD int pgs_edges(const G& g, const M& m, const W& w) {
  (void)m;
  struct Item {
    int count;
  };
  const int n = w.counts()[kBlocks];
  if (n == 0) return 0;
  return g.template append<3>(
      n, [&](int b) { return Item{edges_of(w, b)}; },
      [&](int b, const Item& item, int first) {
        for (int k = 0; k < item.count; ++k) w.pgs_order()[first + k] = 4 * b + k;
      });
}

// w.qacc() and the blocks' forces, from w.qacc_warmstart().
template <int N, class G, class M, class W>
SIM_HD void pgs(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const Real scale = cost_scale(g, m, w);
  inverse_rows<N>(g, m, w);
  pgs_diagonal(g, m, w);
  pgs_warm_start(g, m, w);
  pgs_acceleration(g, m, w);
  const int edges = pgs_edges(g, m, w);
  const int n = w.counts()[kBlocks];
  SweepRandom random;
  int iteration = 0, age = 0;
  while (iteration < m.iterations && edges > 0) {
    const Real beta = iteration > 0 ? Real(age - 1) / Real(age + 2) : Real(0);
    pgs_extrapolate(g, m, w, beta);
    g.once([&] {
      for (int i = edges - 1; i > 0; --i) {
        const int j = static_cast<int>(random.next() % static_cast<unsigned>(i + 1));
        const int code = w.pgs_order()[i];
        w.pgs_order()[i] = w.pgs_order()[j];
        w.pgs_order()[j] = code;
      }
    });
    Real gain = 0;
    for (int e = 0; e < edges; ++e) gain += pgs_edge(g, m, w, w.pgs_order()[e]);
    const Real* force = pgs_vector(m, w, kPgsForce);
    const Real* momentum = pgs_vector(m, w, kPgsMomentum);
    const Real* previous = pgs_vector(m, w, kPgsPrevious);
    const Real against =
        g.template reduce<Real>(4 * n, [&](int e) { return (force[e] - momentum[e]) * (momentum[e] - previous[e]); });
    g.sync();
    age = iteration > 0 && against < Real(0) ? 0 : age + 1;
    ++iteration;
    if (gain * scale < m.tolerance) break;
  }
  g.for_each(n, [&](int b) {  // the three row forces of each block
    const Real* f = pgs_vector(m, w, kPgsForce) + 4 * b;
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
      sum += f[0] * (edges_of(w, b) == 1 ? edge_entry(m, w, b, 0, i, false) : w.J()[index_of(w, b) * m.row + i]);
      if (edges_of(w, b) == 1) continue;
      const Real* row = w.J() + index_of(w, b) * m.row + i;
      sum += f[1] * row[m.row] + f[2] * row[2 * m.row];
    }
    w.qfrc_constraint()[i] = sum;
  });
  g.once([&] { w.counts()[kIterations] = iteration; });
}

}  // namespace hotloop
