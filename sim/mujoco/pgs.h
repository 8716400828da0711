// Projected Gauss-Seidel on MuJoCo's dual problem, iterate by iterate as mj_solPGS of MuJoCo 4.0: one edge of a pyramid
// at a time, in an order shuffled by a fixed PCG32 stream, with Nesterov momentum and adaptive restart.
//
// Two forms. Worlds with few constraints hold the matrix A + R, A = J M^-1 J', and every edge's residual. The others
// keep qacc = qacc_smooth + M^-1 J' force up to date instead, so that the residual of an edge is one product with its
// row. An edge's code is 4 block + k: k = 0, 1 for row 0 +- row 1, 2, 3 for row 0 +- row 2, and 0 for a scalar block.
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
    Real column[N] = {};  // of M^-1: its row, as it is symmetric
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
  const BlockKind kind = kind_of(w, block);
  if (kind == BlockKind::row_friction || kind == BlockKind::dof_friction)
    return clamp(force, -limit_of(w, block), limit_of(w, block));
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
        w.pgs_first()[b] = first;
        for (int k = 0; k < item.count; ++k) w.pgs_order()[first + k] = 4 * b + k;
      });
}

// ---- with the matrix A + R, for up to max_edges edges: an edge's residual is kept, not computed ---------------------

// Rows r of block b at dof i; zero beyond its number of rows.
template <class M, class W>
SIM_HD Vec3<typename M::Real> block_column(const M& m, const W& w, int b, int i, bool inverse) {
  using Real = typename M::Real;
  if (kind_of(w, b) != BlockKind::pyramid) return {edge_entry(m, w, b, 0, i, inverse), Real(0), Real(0)};
  const Real* r = (inverse ? w.MinvJ() : w.J()) + index_of(w, b) * m.row + i;
  return {r[0], r[m.row], r[2 * m.row]};
}

// Where the symmetric matrix A + R keeps the entry of two edges: one triangle, row by row.
SIM_HD int pgs_index(int e, int f) { return e > f ? e * (e + 1) / 2 + f : f * (f + 1) / 2 + e; }

// w.pgs_A(): J M^-1 J' + R by edges. One pair of blocks a lane.
template <class G, class M, class W>
SIM_HD void pgs_matrix(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  g.for_each(n * n, [&](int p) {
    const int b = p / n, c = p % n;
    if (b > c) return;
    Vec3<Real> sum[3] = {};
#pragma unroll 1
    for (int i = 0; i < m.nv; ++i) {
      const Vec3<Real> x = block_column(m, w, b, i, false), y = block_column(m, w, c, i, true);
      sum[0] = sum[0] + x.x * y;
      sum[1] = sum[1] + x.y * y;
      sum[2] = sum[2] + x.z * y;
    }
    const int edges_b = edges_of(w, b), edges_c = edges_of(w, c);
    const Real R = b == c ? Real(1) / w.block_D()[b] : Real(0);
#pragma unroll 1
    for (int k = 0; k < edges_b; ++k) {
      const Vec3<Real> row{edge_value(k, edges_b, sum[0].x, sum[1].x, sum[2].x),
                           edge_value(k, edges_b, sum[0].y, sum[1].y, sum[2].y),
                           edge_value(k, edges_b, sum[0].z, sum[1].z, sum[2].z)};
#pragma unroll 1
      for (int l = 0; l < edges_c; ++l) {
        const Real value = edge_value(l, edges_c, row.x, row.y, row.z) + (k == l ? R : Real(0));
        const int e = w.pgs_first()[b] + k, f = w.pgs_first()[c] + l;
        w.pgs_A()[pgs_index(e, f)] = value;
      }
    }
  });
}

// Residuals of all edges at their forces: b + (A + R) f. b: J qacc_smooth - aref.
template <class G, class M, class W>
SIM_HD void pgs_residuals(const G& g, const M& m, const W& w, int edges) {
  using Real = typename M::Real;
  const Real* force = pgs_vector(m, w, kPgsForce);
  const Real* bias = pgs_vector(m, w, kPgsDiagonal);
  g.for_each(edges, [&](int e) {
    Real sum = bias[e];
#pragma unroll 1
    for (int f = 0; f < edges; ++f) sum += w.pgs_A()[pgs_index(e, f)] * force[f];
    w.pgs_state()[e] = sum;
  });
}

// Biases by edge into kPgsDiagonal, forces of the primal solution at qacc_warmstart (or zero) into kPgsForce; both by
// the edge's position instead of its code.
template <class G, class M, class W>
SIM_HD void pgs_start(const G& g, const M& m, const W& w, int edges) {
  using Real = typename M::Real;
  Real* force = pgs_vector(m, w, kPgsForce);
  Real* bias = pgs_vector(m, w, kPgsDiagonal);
  const int n = w.counts()[kBlocks];
  for (int pass = 0; pass < 2; ++pass) {
    add_products(g, m, w, pass == 0 ? w.search() : w.qacc_warmstart(), w.block_dir(), false);
    g.for_each(n, [&](int b) {
      const Real* y = w.block_res() + 3 * b;
      const Real* d = w.block_dir() + 3 * b;
      const int count = edges_of(w, b), first = w.pgs_first()[b];
      for (int k = 0; k < count; ++k) {
        const Real value = edge_value(k, count, y[0] + d[0], y[1] + d[1], y[2] + d[2]);
        if (pass == 0)
          bias[first + k] = value;
        else
          force[first + k] = m.has_warmstart ? project(w, b, -w.block_D()[b] * value) : Real(0);
      }
    });
  }
  pgs_residuals(g, m, w, edges);
  const Real cost =
      g.template reduce<Real>(edges, [&](int e) { return Real(0.5) * force[e] * (w.pgs_state()[e] + bias[e]); });
  g.sync();
  if (cost <= Real(0)) return;
  g.for_each(edges, [&](int e) {
    force[e] = 0;
    w.pgs_state()[e] = bias[e];
  });
}

// One edge: as pgs_edge. block: the edge's.
template <class G, class M, class W>
SIM_HD typename M::Real pgs_matrix_edge(const G& g, const M& m, const W& w, int e, int block, int edges) {
  using Real = typename M::Real;
  Real* force = pgs_vector(m, w, kPgsForce);
  const Real* matrix = w.pgs_A();
  const Real diagonal = matrix[pgs_index(e, e)], old = force[e], residual = w.pgs_state()[e];
  const Real next = project(w, block, old - residual * (Real(1) / diagonal));
  const Real delta = next - old;
  const Real change = Real(0.5) * delta * delta * diagonal + delta * residual;
  g.sync();
  if (change > Real(1e-10)) return Real(0);
  if (delta != Real(0))
    g.for_each(edges, [&](int f) {
      w.pgs_state()[f] += delta * matrix[pgs_index(e, f)];
      if (f == e) force[e] = next;
    });
  return -change;
}

// Shuffles the n codes of the sweep's order.
template <class G, class W>
SIM_HD void pgs_shuffle(const G& g, const W& w, SweepRandom& random, int n) {
  g.once([&] {
#pragma unroll 1
    for (int i = n - 1; i > 0; --i) {
      const int j = static_cast<int>(random.next() % static_cast<unsigned>(i + 1));
      const int code = w.pgs_order()[i];
      w.pgs_order()[i] = w.pgs_order()[j];
      w.pgs_order()[j] = code;
    }
  });
}

// The iterations. matrix: with A + R, forces by position; else forces by code.
template <class G, class M, class W>
SIM_HD int pgs_iterate(const G& g, const M& m, const W& w, int edges, bool matrix) {
  using Real = typename M::Real;
  const Real scale = cost_scale(g, m, w);
  Real* force = pgs_vector(m, w, kPgsForce);
  Real* previous = pgs_vector(m, w, kPgsPrevious);
  Real* momentum = pgs_vector(m, w, kPgsMomentum);
  const int slots = matrix ? edges : 4 * w.counts()[kBlocks];
  SweepRandom random;
  int iteration = 0, age = 0;
#pragma unroll 1
  while (iteration < m.iterations && edges > 0) {
    const Real beta = iteration > 0 ? Real(age - 1) / Real(age + 2) : Real(0);
    g.for_each(slots, [&](int e) {
      const Real now = force[e];
      const int block = matrix ? w.pgs_block()[e] : e / 4;
      if (beta > Real(0)) force[e] = project(w, block, now + beta * (now - previous[e]));
      previous[e] = now;
      momentum[e] = force[e];
    });
    if (beta > Real(0)) {
      if (matrix)
        pgs_residuals(g, m, w, edges);
      else
        pgs_acceleration(g, m, w);
    }
    pgs_shuffle(g, w, random, edges);
    Real gain = 0;
#pragma unroll 1
    for (int i = 0; i < edges; ++i) {
      const int code = w.pgs_order()[i];
      gain += matrix ? pgs_matrix_edge(g, m, w, code, w.pgs_block()[code], edges) : pgs_edge(g, m, w, code);
    }
    const Real against =
        g.template reduce<Real>(slots, [&](int e) { return (force[e] - momentum[e]) * (momentum[e] - previous[e]); });
    g.sync();
    age = iteration > 0 && against < Real(0) ? 0 : age + 1;
    ++iteration;
    if (gain * scale < m.tolerance) break;
  }
  return iteration;
}

// Forces of the blocks' rows out of those of their edges, then qfrc_constraint; qacc where the matrix form left it out.
template <class G, class M, class W>
SIM_HD void pgs_finish(const G& g, const M& m, const W& w, bool matrix) {
  using Real = typename M::Real;
  const int n = w.counts()[kBlocks];
  const Real* force = pgs_vector(m, w, kPgsForce);
  g.for_each(n, [&](int b) {
    const Real* f = force + (matrix ? w.pgs_first()[b] : 4 * b);
    Real* out = w.block_force() + 3 * b;
    const bool scalar = edges_of(w, b) == 1;
    out[0] = scalar ? f[0] : f[0] + f[1] + f[2] + f[3];
    out[1] = scalar ? Real(0) : f[0] - f[1];
    out[2] = scalar ? Real(0) : f[2] - f[3];
  });
  g.for_each(m.nv, [&](int i) {
    Real sum = 0, acceleration = w.search()[i];
#pragma unroll 1
    for (int b = 0; b < n; ++b) {
      const Real* f = w.block_force() + 3 * b;
      const Vec3<Real> rows{f[0], f[1], f[2]};
      sum += dot(rows, block_column(m, w, b, i, false));
      acceleration += dot(rows, block_column(m, w, b, i, true));
    }
    w.qfrc_constraint()[i] = sum;
    if (matrix) w.qacc()[i] = acceleration;
  });
}

// w.qacc() and the blocks' forces, from w.qacc_warmstart().
template <int N, class G, class M, class W>
SIM_HD void pgs(const G& g, const M& m, const W& w) {
  inverse_rows<N>(g, m, w);
  const int edges = pgs_edges(g, m, w);
  const bool matrix = edges <= m.max_edges;
  if (matrix) {
    // the order is one of positions, and every position knows its block
    g.for_each(edges, [&](int e) {
      w.pgs_block()[e] = w.pgs_order()[e] / 4;
      w.pgs_order()[e] = e;
    });
    pgs_matrix(g, m, w);
    pgs_start(g, m, w, edges);
  } else {
    pgs_diagonal(g, m, w);
    pgs_warm_start(g, m, w);
    pgs_acceleration(g, m, w);
  }
  const int iterations = pgs_iterate(g, m, w, edges, matrix);
  pgs_finish(g, m, w, matrix);
  g.once([&] { w.counts()[kIterations] = iterations; });
}

}  // namespace hotloop
