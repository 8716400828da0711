// PGS with the matrix A + R: the residuals of all edges are kept, one or two a lane, and a change of one force changes
// them by a column of the matrix. The order of the sweeps depends only on the number of edges: the model has a table.
#pragma once
#include "sim/mujoco/lane_values.h"
#include "sim/mujoco/pgs_edges.h"
#include "sim/mujoco/sweep_order.h"

namespace hotloop {

// Row e of the matrix's triangle begins at element e (e + 1) / 2.
SIM_HD int triangle_row(int e) { return e * (e + 1) / 2; }
SIM_HD int triangle_index(int e, int f) { return e > f ? triangle_row(e) + f : triangle_row(f) + e; }

// The numbers of each edge, by position.
template <class G, class Real>
struct PgsEdges {
  LaneValues<G, Real> force, residual, bias, diagonal, inverse, bound;  // bias: J qacc_smooth - aref
  LaneValues<G, Real> previous, start, gain;                            // of the sweep
};

// The products of an edge's row of J with three vectors, m.row elements each, zero beyond nv.
template <class M, class W>
SIM_HD Vec3<typename M::Real> edge_products(const M& m, const W& w, int code, const typename M::Real* vectors) {
  using Real = typename M::Real;
  const int b = code / 4, k = code % 4, index = index_of(w, b);
  const BlockKind kind = kind_of(w, b);
  if (is_dof_block(kind))
    return dof_sign(w, b) * Vec3<Real>{vectors[index], vectors[m.row + index], vectors[2 * m.row + index]};
  const Real* first = w.J() + index * m.row;
  const bool pyramid = kind == BlockKind::pyramid;
  const Real* second = first + (!pyramid ? 0 : k < 2 ? m.row : 2 * m.row);
  const Real sign = !pyramid ? Real(0) : Real(1 - 2 * (k & 1));
  Vec3<Real> sum = {Real(0), Real(0), Real(0)};
#pragma unroll 1
  for (int q = 0; q < m.row / 4; ++q) {
    const Quad<Real> a = quad(first, q), c = quad(second, q);
    const Quad<Real> x = quad(vectors, q), y = quad(vectors + m.row, q), z = quad(vectors + 2 * m.row, q);
    for (int j = 0; j < 4; ++j) {
      const Real entry = a.v[j] + sign * c.v[j];
      sum.x += entry * x.v[j];
      sum.y += entry * y.v[j];
      sum.z += entry * z.v[j];
    }
  }
  return sum;
}

// A + R, block after block: M^-1 times the block's rows, then the products of all edges from the block on with them.
template <class G, class M, class W>
SIM_HD void pgs_matrix(const G& g, const M& m, const W& w, const PgsMatrix& at, int edges) {
  using Real = typename M::Real;
  Real* matrix = w.pgs_space();
  Real* vectors = matrix + at.vectors;
  const int* codes = reinterpret_cast<const int*>(matrix + at.codes);
  const int n = w.counts()[kBlocks];
#pragma unroll 1
  for (int c = 0; c < n; ++c) {
    const BlockKind kind = kind_of(w, c);
    const int index = index_of(w, c), rows = is_dof_block(kind) ? 0 : kind == BlockKind::pyramid ? 3 : 1;
    g.for_each(m.row, [&](int i) {
      const Real* inverse = inverse_mass(m, w) + (i < m.nv ? i : 0) * m.row;
      vectors[i] = i < m.nv && rows == 0 ? dof_sign(w, c) * inverse[index] : Real(0);
#pragma unroll 1
      for (int k = 0; k < rows; ++k)
        vectors[k * m.row + i] = i < m.nv ? dot_row(inverse, w.J() + (index + k) * m.row, m.nv) : Real(0);
    });
    const int first = w.pgs_first()[c], count = edges_of(w, c);
    g.for_each(edges - first, [&](int p) {
      const int e = first + p;
      const Vec3<Real> product = edge_products(m, w, codes[e], vectors);
#pragma unroll 1
      for (int k = 0; k < count && k <= p; ++k)
        matrix[triangle_row(e) + first + k] =
            edge_value(k, count, product.x, product.y, product.z) + (k == p ? Real(1) / w.block_D()[c] : Real(0));
    });
  }
}

// Residuals at the forces: bias + (A + R) force.
template <class G, class M, class W, class Real>
SIM_HD void pgs_residuals(const G& g, const M&, const W& w, PgsEdges<G, Real>& s, int edges) {
  const Real* matrix = w.pgs_space();
  each_own(g, edges, [&](int e) { s.residual.set(e, s.bias.get(e)); });
#pragma unroll 1
  for (int f = 0; f < edges; ++f) {
    const Real force = from_owner(g, f, [&](int e) { return s.force.get(e); });
    if (force != Real(0))
      each_own(g, edges, [&](int e) { s.residual.set(e, s.residual.get(e) + force * matrix[triangle_index(e, f)]); });
  }
}

// The constant numbers of the edges, and the forces of the primal solution at qacc_warmstart, or zero where those are
// worse.
template <class G, class M, class W, class Real>
SIM_HD void pgs_start(const G& g, const M& m, const W& w, const PgsMatrix& at, PgsEdges<G, Real>& s, int edges) {
  Real* matrix = w.pgs_space();
  Real* vectors = matrix + at.vectors;
  const int* codes = reinterpret_cast<const int*>(matrix + at.codes);
  g.for_each(m.row, [&](int i) {
    vectors[i] = i < m.nv ? w.search()[i] : Real(0);
    vectors[m.row + i] = i < m.nv ? w.qacc_warmstart()[i] : Real(0);
    vectors[2 * m.row + i] = Real(0);
  });
  each_own(g, edges, [&](int e) {
    const int code = codes[e], b = code / 4, count = edges_of(w, b);
    const Vec3<Real> product = edge_products(m, w, code, vectors);
    const Real* y = w.block_res() + 3 * b;
    const Real reference = edge_value(code % 4, count, y[0], y[1], y[2]);
    const Real diagonal = matrix[triangle_row(e) + e];
    s.diagonal.set(e, diagonal);
    s.inverse.set(e, Real(1) / diagonal);
    s.bias.set(e, product.x + reference);
    s.bound.set(e, bound_of(w, b));
    s.force.set(e, m.has_warmstart ? project(m, s.bound.get(e), -w.block_D()[b] * (product.y + reference)) : Real(0));
  });
  pgs_residuals(g, m, w, s, edges);
  const Real cost = g.template reduce<Real>(
      edges, [&](int e) { return Real(0.5) * s.force.get(e) * (s.residual.get(e) + s.bias.get(e)); });
  if (cost <= Real(0)) return;
  each_own(g, edges, [&](int e) {
    s.force.set(e, Real(0));
    s.residual.set(e, s.bias.get(e));
  });
}

// Edge i takes the force that minimises the dual cost, the others held.
template <class G, class M, class W, class Real>
SIM_HD void pgs_edge(const G& g, const M& m, const W& w, PgsEdges<G, Real>& s, int i, int edges) {
  const Real change = from_owner(g, i, [&](int e) {
    const Real old = s.force.get(e), residual = s.residual.get(e);
    const Real next = project(m, s.bound.get(e), old - residual * s.inverse.get(e)), step = next - old;
    const Real cost = step * (Real(0.5) * step * s.diagonal.get(e) + residual);
    const bool worse = cost > Real(1e-10);
    if (e == i && !worse) s.force.set(e, next);
    if (e == i) s.gain.set(e, worse ? Real(0) : -cost);
    return worse ? Real(0) : step;
  });
  if (change == Real(0)) return;
  const Real* matrix = w.pgs_space();
  each_own(g, edges, [&](int e) { s.residual.set(e, s.residual.get(e) + change * matrix[triangle_index(e, i)]); });
}

// The iterations. Returns their number; the forces lie in pgs_space(). scale: of cost_scale.
template <class G, class M, class W, class Real>
SIM_HD int pgs_by_matrix(const G& g, const M& m, const W& w, const PgsMatrix& at, int edges, Real scale) {
  int* codes = reinterpret_cast<int*>(w.pgs_space() + at.codes);
  g.for_each(w.counts()[kBlocks], [&](int b) {
    const int first = w.pgs_first()[b], count = edges_of(w, b);
    for (int k = 0; k < count; ++k) codes[first + k] = 4 * b + k;
  });
  pgs_matrix(g, m, w, at, edges);
  PgsEdges<G, Real> s;
  pgs_start(g, m, w, at, s, edges);
  int iteration = 0, age = 0;
#pragma unroll 1
  while (iteration < m.iterations && edges > 0) {
    const Real beta = iteration > 0 ? Real(age - 1) / Real(age + 2) : Real(0);
    LaneValues<G, int> order;
    const int* row = m.pgs_orders + order_index(edges, iteration, m.pgs_sweeps);
    each_own(g, edges, [&](int e) {
      const Real now = s.force.get(e);
      if (beta > Real(0)) s.force.set(e, project(m, s.bound.get(e), now + beta * (now - s.previous.get(e))));
      s.previous.set(e, now);
      s.start.set(e, s.force.get(e));
      order.set(e, row[e]);
    });
    if (beta > Real(0)) pgs_residuals(g, m, w, s, edges);
#pragma unroll 1
    for (int i = 0; i < edges; ++i) pgs_edge(g, m, w, s, from_owner(g, i, [&](int e) { return order.get(e); }), edges);
    const Vec2<Real> sums = g.template reduce<Vec2<Real>>(edges, [&](int e) {
      return Vec2<Real>{s.gain.get(e), (s.force.get(e) - s.start.get(e)) * (s.start.get(e) - s.previous.get(e))};
    });
    age = iteration > 0 && sums.y < Real(0) ? 0 : age + 1;
    ++iteration;
    if (sums.x * scale < m.tolerance) break;
  }
  g.for_each(edges, [&](int e) { w.pgs_space()[at.forces + e] = s.force.get(e); });
  return iteration;
}

}  // namespace hotloop
