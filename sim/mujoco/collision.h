// Contacts of a world: bounding tests over the model's list of pairs, then one pair a lane (mj_collision). Contacts
// come in the order of the pairs. What does not fit is dropped and reported in counts[kStatus].
#pragma once
#include "sim/mujoco/collide_polytope.h"
#include "sim/mujoco/collide_round.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// Are the bounding spheres of a pair (a plane's is the half space) nearer than the pair's margin?
template <class M, class W>
SIM_HD bool bounds_touch(const M& m, const W& w, int pair) {
  using Real = typename M::Real;
  const int a = m.pair_geom1[pair], b = m.pair_geom2[pair];
  const Real reach = m.pair_margin[pair] + m.pair_gap[pair] + m.geom_rbound[b];
  const Vec3<Real> between = load3(w.geom_xpos() + 3 * b) - load3(w.geom_xpos() + 3 * a);
  if (static_cast<GeomType>(m.geom_type[a]) == GeomType::plane) {
    const Vec3<Real> up = rotate(load4(w.geom_xquat() + 4 * a), Vec3<Real>{Real(0), Real(0), Real(1)});
    return dot(up, between) <= reach;
  }
  const Real limit = reach + m.geom_rbound[a];
  return dot(between, between) <= limit * limit;
}

template <class M, class W>
SIM_HD Geom<typename M::Real> geom_of(const M& m, const W& w, int i) {
  return {load3(w.geom_xpos() + 3 * i), load4(w.geom_xquat() + 4 * i), m.geom_size + 3 * i};
}

template <class Real, int N>
struct PairContacts {
  int count, pair;
  Contacts<Real, N> contacts;
};

// Contacts of one pair that exert force: nearer than the margin (in the gap they do not).
template <int N, class M, class W>
SIM_HD PairContacts<typename M::Real, N> collide(const M& m, const W& w, int pair) {
  using Real = typename M::Real;
  const auto kind = static_cast<PairKind>(m.pair_kind[pair]);
  const Geom<Real> a = geom_of(m, w, m.pair_geom1[pair]), b = geom_of(m, w, m.pair_geom2[pair]);
  const Real margin = m.pair_margin[pair];
  PairContacts<Real, N> result{0, pair, {}};
  const auto keep = [&](const auto& found) {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (k < found.count && found.at[k].dist < margin) result.contacts.at[result.count++] = found.at[k];
  };
  const bool round = kind == PairKind::plane_sphere || kind == PairKind::plane_capsule ||
                     kind == PairKind::sphere_sphere || kind == PairKind::sphere_capsule ||
                     kind == PairKind::capsule_capsule;
  if constexpr (N == 2) {
    keep(collide_round(kind, a, b, margin + m.pair_gap[pair]));
  } else {
    if (round) {
      const auto two = collide_round(kind, a, b, margin + m.pair_gap[pair]);
      for (int k = 0; k < two.count; ++k)
        if (two.at[k].dist < margin) result.contacts.at[result.count++] = two.at[k];
    } else {
      keep(collide_polytope(kind, a, b, margin + m.pair_gap[pair]));
    }
  }
  return result;
}

template <int N, class G, class M, class W>
SIM_HD int narrow_phase(const G& g, const M& m, const W& w, int candidates) {
  using Real = typename M::Real;
  using Item = PairContacts<Real, N>;
  if (candidates == 0) return 0;
  return g.append(
      candidates, [&](int i) { return collide<N>(m, w, w.candidates()[i]); },
      [&](int, const Item& item, int first) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const int c = first + k;
          if (k >= item.count || c >= m.max_contacts) continue;
          const ContactPoint<Real>& point = item.contacts.at[k];
          Real* out = w.contact() + kContactStride * c;
          const Real* friction = m.pair_friction.of(w.index) + 2 * item.pair;
          w.con_pair()[c] = item.pair;
          store3(out, point.pos);
          out[3] = point.dist;
          store3(out + 4, point.normal);
          out[7] = friction[0];
          store3(out + 8, contact_frame(point.normal, point.tangent));
          out[11] = friction[1];
        }
      });
}

struct Flag {
  int count;
};

template <class G, class M, class W>
SIM_HD void collision(const G& g, const M& m, const W& w) {
  int contacts = 0;
  if (m.has_contacts && m.npair > 0) {
    const int candidates = g.append(
        m.npair, [&](int i) { return Flag{bounds_touch(m, w, i) ? 1 : 0}; },
        [&](int i, const Flag&, int first) { w.candidates()[first] = i; });
    contacts = m.has_polytopes ? narrow_phase<8>(g, m, w, candidates) : narrow_phase<2>(g, m, w, candidates);
  }
  g.once([&] {
    w.counts()[kContacts] = contacts < m.max_contacts ? contacts : m.max_contacts;
    if (contacts > m.max_contacts) w.counts()[kStatus] |= kContactOverflow;
  });
}

}  // namespace hotloop
