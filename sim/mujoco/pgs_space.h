// The part of a world's working set that PGS alone uses, pgs_space(): its two forms (pgs.h) share it.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

// Where the form with a matrix keeps its arrays in pgs_space(), by position: one triangle of A + R; the edges' codes;
// their forces; three vectors over the dofs.
struct PgsMatrix {
  int codes, forces, vectors, end;
  template <class Sizes>
  SIM_HD constexpr explicit PgsMatrix(const Sizes& s)
      : codes((s.max_edges * (s.max_edges + 1) / 2 + 3) / 4 * 4),
        forces(codes + (s.max_edges + 3) / 4 * 4),
        vectors(forces + (s.max_edges + 3) / 4 * 4),
        end(vectors + 3 * s.row) {}
};

// The same for the form with rows: the rows of J M^-1; four arrays by code; the order of the sweep.
struct PgsRows {
  int inverse_rows, force, previous, momentum, diagonal, order, end;
  template <class Sizes>
  SIM_HD constexpr explicit PgsRows(const Sizes& s)
      : inverse_rows(0),
        force(s.max_rows * s.row),
        previous(force + 4 * s.max_blocks),
        momentum(previous + 4 * s.max_blocks),
        diagonal(momentum + 4 * s.max_blocks),
        order(diagonal + 4 * s.max_blocks),
        end(order + 4 * s.max_blocks) {}
};

// Elements of pgs_space(). The row buffer of `invert` lies there before.
template <class Sizes>
constexpr int pgs_space_size(const Sizes& s) {
  if (!s.pgs) return 0;
  const int matrix = PgsMatrix(s).end, rows = PgsRows(s).end, buffer = 4 * (s.bound + 4);
  const int forms = matrix > rows ? matrix : rows;
  return forms > buffer ? forms : buffer;
}

}  // namespace hotloop
