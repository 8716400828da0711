// What both forms of PGS share: the edges of the blocks. A scalar block has one edge, its row; a pyramid has four:
// k = 0, 1 for row 0 +- row 1 and k = 2, 3 for row 0 +- row 2. An edge's code is 4 block + k, its position its place in
// MuJoCo's efc arrays. pgs_space() holds what one form or the other needs.
#pragma once
#include "sim/mujoco/newton.h"
#include "sim/mujoco/pgs_space.h"

namespace hotloop {

// M^-1. RK4 needs M no more and its inverse takes its place; Euler's implicit damping does.
template <class M, class W>
SIM_HD typename M::Real* inverse_mass(const M& m, const W& w) {
  return m.rk4 ? w.M() : w.H();
}

template <class W>
SIM_HD int edges_of(const W& w, int block) {
  return kind_of(w, block) == BlockKind::pyramid ? 4 : 1;
}

// The one entry of a dof block's Jacobian.
template <class W>
SIM_HD typename W::Real dof_sign(const W& w, int block) {
  return kind_of(w, block) == BlockKind::dof_limit ? limit_of(w, block) : typename W::Real(1);
}

// Value of an edge, given the values of its block's three rows.
template <class Real>
SIM_HD Real edge_value(int k, int edges, Real v0, Real v1, Real v2) {
  if (edges == 1) return v0;
  return k == 0 ? v0 + v1 : k == 1 ? v0 - v1 : k == 2 ? v0 + v2 : v0 - v2;
}

// Whether some force is bounded on both sides: friction losses are, everything else pushes only.
template <class M>
SIM_HD bool has_two_sided(const M& m) {
  return m.has_friction && (m.nfriction > 0 || m.has_tendon_rows);
}

// The bound of a two-sided block; -1 for the others.
template <class W>
SIM_HD typename W::Real bound_of(const W& w, int block) {
  const BlockKind kind = kind_of(w, block);
  const bool friction = kind == BlockKind::row_friction || kind == BlockKind::dof_friction;
  return friction ? limit_of(w, block) : typename W::Real(-1);
}

template <class M, class Real>
SIM_HD Real project(const M& m, Real bound, Real force) {
  if (has_two_sided(m) && bound >= Real(0)) return clamp(force, -bound, bound);
  return maximum(force, Real(0));
}

// Fills pgs_first with the position of each block's first edge; returns the number of edges.
template <class G, class W>
SIM_HD int count_edges(const G& g, const W& w) {
  struct Item {
    int count;
  };
  const int n = w.counts()[kBlocks];
  if (n == 0) return 0;
  return g.template append<3>(
      n, [&](int b) { return Item{edges_of(w, b)}; }, [&](int b, const Item&, int first) { w.pgs_first()[b] = first; });
}

}  // namespace hotloop
