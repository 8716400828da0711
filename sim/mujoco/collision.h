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
  unsigned keep;  // bit k: contact k is nearer than the margin (in the gap it exerts no force)
  Contacts<Real, N> contacts;
};

template <int N, class M, class W>
SIM_HD PairContacts<typename M::Real, N> collide(const M& m, const W& w, int pair) {
  using Real = typename M::Real;
  const auto kind = static_cast<PairKind>(m.pair_kind[pair]);
  const Geom<Real> a = geom_of(m, w, m.pair_geom1[pair]), b = geom_of(m, w, m.pair_geom2[pair]);
  const Real margin = m.pair_margin[pair], reach = margin + m.pair_gap[pair];
  PairContacts<Real, N> result{0, pair, 0, {}};
  if constexpr (N == 2)
    result.contacts = collide_round(kind, a, b, reach);
  else
    result.contacts = collide_any(m.pair_kinds, kind, a, b, reach);
#pragma unroll
  for (int k = 0; k < N; ++k)
    if (k < result.contacts.count && result.contacts.at[k].dist < margin) {
      result.keep |= 1u << k;
      ++result.count;
    }
  return result;
}

template <int N, class G, class M, class W>
SIM_HD int narrow_phase(const G& g, const M& m, const W& w, int candidates) {
  using Real = typename M::Real;
  using Item = PairContacts<Real, N>;
  if (candidates == 0) return 0;
  return g.template append < N == 2
             ? 2
             : 4 > (
                       candidates, [&](int i) { return collide<N>(m, w, w.candidates()[i]); },
                       [&](int, const Item& item, int first) {
                         int c = first;
#pragma unroll
                         for (int k = 0; k < N; ++k) {
                           if ((item.keep >> k & 1) == 0) continue;
                           if (c < m.max_contacts) {
                             const ContactPoint<Real>& point = item.contacts.at[k];
                             Real* out = w.contact() + kContactStride * c;
                             const Real* friction = m.pair_friction.of(w.index) + 2 * item.pair;
                             w.con_pair()[c] = item.pair;
                             store3(out, point.pos);
                             out[3] = point.dist;
                             store3(out + 4, point.normal);
                             out[7] = friction[0];
                             store3(out + 8, point.tangent);  // the hint: the frame is made below
                             out[11] = friction[1];
                           }
                           ++c;
                         }
                       });
}

struct Flag {
  int count;
};

template <class G, class M, class W>
SIM_HD void collision(const G& g, const M& m, const W& w) {
  using Real = typename M::Real;
  int contacts = 0;
  if (m.has_contacts && m.npair > 0) {
    const int candidates = g.template append<1>(
        m.npair, [&](int i) { return Flag{bounds_touch(m, w, i) ? 1 : 0}; },
        [&](int i, const Flag&, int first) { w.candidates()[first] = i; });
    contacts = m.has_polytopes ? narrow_phase<8>(g, m, w, candidates) : narrow_phase<2>(g, m, w, candidates);
  }
  const int kept = contacts < m.max_contacts ? contacts : m.max_contacts;
  g.for_each(kept, [&](int c) {
    Real* out = w.contact() + kContactStride * c;
    store3(out + 8, contact_frame(load3(out + 4), load3(out + 8)));
  });
  g.once([&] {
    w.counts()[kContacts] = kept;
    if (contacts > m.max_contacts) w.counts()[kStatus] |= kContactOverflow;
  });
}

}  // namespace hotloop
