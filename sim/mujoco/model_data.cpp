#include "sim/mujoco/model_data.h"

#include <algorithm>
#include <numeric>

#include "sim/mujoco/pgs_space.h"
#include "sim/mujoco/world.h"

namespace hotloop {
namespace {

// The most contacts that one pair can have at a time (mj_maxContact).
int contacts_of(int kind) {
  switch (static_cast<PairKind>(kind)) {
    case PairKind::plane_capsule:
    case PairKind::capsule_capsule:
      return 2;
    case PairKind::plane_cylinder:
    case PairKind::plane_box:
    case PairKind::capsule_box:
      return 4;
    case PairKind::capsule_cylinder:
      return 5;
    case PairKind::box_box:
      return 8;
    default:
      return 1;
  }
}

// Room for the contacts of a world: what it needs, and what it needs where trees pile up.
struct Room {
  int usual, piled;
};

Room default_room(const ModelData& m) {
  int most = 0;
  std::vector<bool> collides(static_cast<std::size_t>(m.ngeom), false);
  for (int p = 0; p < m.npair; ++p) {
    most += contacts_of(m.pair_kind[p]);
    collides[m.pair_geom1[p]] = collides[m.pair_geom2[p]] = true;
  }
  // Few pairs touch at a time: most of the moving geoms with one contact each (few of them with two, as capsules lie on
  // both ends), and four corners of those with faces. Trees that can touch pile up: one more for each round geom of
  // theirs, and for one with faces the corners of two neighbours more.
  const auto has_faces = [&](int g) {
    const auto type = static_cast<GeomType>(m.geom_type[g]);
    return type == GeomType::box || type == GeomType::cylinder;
  };
  std::vector<int> piles(static_cast<std::size_t>(m.ngeom), 0);
  for (int p = 0; p < m.npair; ++p) {
    const int g1 = m.pair_geom1[p], g2 = m.pair_geom2[p], body1 = m.geom_bodyid[g1], body2 = m.geom_bodyid[g2];
    const bool both_move = m.body_lastdof[body1] >= 0 && m.body_lastdof[body2] >= 0;
    if (both_move && m.body_rootid[body1] != m.body_rootid[body2] && has_faces(g1) == has_faces(g2))
      piles[g1] = piles[g2] = has_faces(g1) ? 8 : 1;
  }
  int round = 0, faces = 0;
  for (int g = 0; g < m.ngeom; ++g) {
    if (!collides[g] || m.body_lastdof[m.geom_bodyid[g]] < 0) continue;
    (has_faces(g) ? faces : round) += 1;
  }
  const int piled = std::accumulate(piles.begin(), piles.end(), 0);
  const int lying =
      std::min(2 * round, 2 * std::max(m.nroot, 4));  // each tree, as a capsule does; few trees also on top
  const int likely = std::max(4 + (3 * round + 3) / 4, lying) + 4 * faces;
  return {std::min(most, likely), std::min(most, likely + piled)};
}

// The most edges for which PGS holds a matrix. Few worlds have more: those take the slower form that needs none.
void bound_edges(ModelData& m) {
  constexpr int kMostSweeps = 100;  // in the table of orders
  m.max_edges = m.pgs_sweeps = 0;
  if (!m.pgs || m.iterations > kMostSweeps) return;
  m.pgs_sweeps = m.iterations;
  m.max_edges = std::min(m.max_blocks + 3 * m.max_contacts, 2 * lanes_for(m.bound));
  while (m.max_edges > 0 && PgsMatrix(m).end > std::max(PgsRows(m).end, 1024)) --m.max_edges;
}

// Limits, friction losses and contacts that can be active at once, and the rows of J that they store.
void count_constraints(ModelData& m) {
  int blocks = m.has_friction ? m.nfriction : 0, rows = 0;
  for (int j = 0; m.has_limits && j < m.njnt; ++j) {
    if (!m.jnt_limited[j]) continue;
    const bool ball = m.jnt_type[j] == static_cast<int>(JointType::ball);
    // both ends of a range are near only if it is narrower than both margins together
    const bool both = !ball && m.jnt_range[2 * j + 1] - m.jnt_range[2 * j] < 2 * m.jnt_margin[j];
    blocks += both ? 2 : 1;
    rows += ball ? 1 : 0;
  }
  for (int t = 0; t < m.ntendon; ++t) {
    int of_tendon = m.has_friction && m.tendon_frictionloss[t] > 0 ? 1 : 0;
    if (m.has_limits && m.tendon_limited[t])
      of_tendon += m.tendon_range[2 * t + 1] - m.tendon_range[2 * t] < 2 * m.tendon_margin[t] ? 2 : 1;
    blocks += of_tendon;
    rows += of_tendon;
  }
  // where only some pairs have friction, not every contact takes three rows
  const auto frictional = std::count_if(m.pair_condim.begin(), m.pair_condim.end(), [](int d) { return d > 1; });
  const int contact_rows = frictional == 0        ? m.max_contacts
                           : frictional < m.npair ? std::min(3 * m.max_contacts, 2 * m.max_contacts + 6)
                                                  : 3 * m.max_contacts;
  m.max_blocks = blocks + m.max_contacts;
  m.max_rows = rows + contact_rows;
  bound_edges(m);
}

// max_contacts, where the model's user does not say. Piles get room as long as the world fits the shared memory that a
// block has on those cards on which it fits with the usual room.
void choose_max_contacts(ModelData& m) {
  constexpr std::size_t kSharedMemory[] = {99 * 1024, 163 * 1024, 227 * 1024};  // compute capability 8.6, 8.0, 9.0
  const Room room = default_room(m);
  const auto bytes = [&](int contacts) {
    m.max_contacts = contacts;
    count_constraints(m);
    return static_cast<std::size_t>(make_layout(m, 0).reals) * sizeof(float);
  };
  const std::size_t usual = bytes(room.usual);
  const auto* limit = std::find_if(std::begin(kSharedMemory), std::end(kSharedMemory),
                                   [&](std::size_t memory) { return usual <= memory; });
  int contacts = room.piled;
  if (limit != std::end(kSharedMemory))
    while (contacts > room.usual && bytes(contacts) > *limit) --contacts;
  m.max_contacts = contacts;
}

}  // namespace

TreeData make_tree(std::vector<int> parent) {
  TreeData tree;
  const int n = tree.n = static_cast<int>(parent.size());
  std::vector<int> depth(parent.size(), 0);
  for (int i = 0; i < n; ++i) {
    if (parent[i] >= 0) depth[i] = depth[parent[i]] + 1;
    tree.levels = std::max(tree.levels, depth[i] + 1);
  }
  while ((1 << tree.rounds) < tree.levels) ++tree.rounds;
  tree.jump.assign(static_cast<std::size_t>(tree.rounds) * n, -1);
  for (int r = 0; r < tree.rounds; ++r)
    for (int i = 0; i < n; ++i) {
      const int half = r == 0 ? parent[i] : tree.jump[(r - 1) * n + i];
      tree.jump[r * n + i] = r == 0 || half < 0 ? half : tree.jump[(r - 1) * n + half];
    }
  tree.level.push_back(0);
  for (int d = 0; d < tree.levels; ++d) {
    for (int i = 0; i < n; ++i)
      if (depth[i] == d) tree.order.push_back(i);
    tree.level.push_back(static_cast<int>(tree.order.size()));
  }
  tree.parent = std::move(parent);
  return tree;
}

void finish_sizes(ModelData& data, int max_contacts) {
  data.nquat = static_cast<int>(data.quat_jntid.size());
  data.nfriction = static_cast<int>(data.friction_dofid.size());
  data.npair = static_cast<int>(data.pair_kind.size());
  data.has_contacts = data.has_contacts && data.npair > 0;
  data.row = (data.nv + 3) / 4 * 4;
  data.bound = dof_bound(data.nv);
  data.rk4 = data.integrator == Integrator::rk4;
  data.pgs = data.solver == SolverType::pgs;
  finish_tables(data);
  data.max_contacts = data.has_contacts ? max_contacts : 0;
  if (data.has_contacts && max_contacts <= 0) choose_max_contacts(data);
  count_constraints(data);
  fill_sweep_orders(data);
}

}  // namespace hotloop
