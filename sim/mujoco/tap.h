// Contacts and their forces as a step found them: what sensors, taps and tasks read after it.
#pragma once
#include "sim/core/contact_record.h"
#include "sim/mujoco/spatial.h"
#include "sim/mujoco/world.h"

namespace hotloop {

// Force on geom 2 of contact c, world frame.
template <class M, class W>
SIM_HD Vec3<typename M::Real> contact_force(const M& m, const W& w, int c) {
  using Real = typename M::Real;
  const Real* f = w.block_force() + 3 * (w.counts()[kContactBlocks] + c);
  const Real* contact = w.contact() + kContactStride * c;
  const Vec3<Real> normal = load3(contact + 4), tangent = load3(contact + 8);
  const Vec3<Real> force = f[0] * normal;
  if (m.pair_condim[w.con_pair()[c]] == 1) return force;
  // the tangents' rows are scaled by their friction
  return force + (contact[7] * f[1]) * tangent + (contact[11] * f[2]) * cross(normal, tangent);
}

// Is there a tap? A constant of kernels made for a model, which without one are as if this were not there.
template <class Layout>
SIM_HD bool tapped(const Layout& at, const ContactTap& tap) {
  return (at.keep & kKeepTap) != 0 && tap.counts != nullptr;
}

// The contacts of the step's last evaluation; the layout keeps them (kKeepContact).
template <class G, class M, class W>
SIM_HD void write_tap(const G& g, const M& m, const W& w, const ContactTap& tap, long long world) {
  const int n = w.counts()[kContacts] < tap.capacity ? w.counts()[kContacts] : tap.capacity;
  g.for_each(n, [&](int c) {
    ContactRecord& out = tap.records[world * tap.capacity + c];
    const auto* contact = w.contact() + kContactStride * c;
    const int pair = w.con_pair()[c];
    store3(out.pos, load3(contact));
    out.dist = contact[3];
    store3(out.normal, load3(contact + 4));
    store3(out.force, contact_force(m, w, c));
    out.geom1 = m.pair_geom1[pair];
    out.geom2 = m.pair_geom2[pair];
  });
  g.once([&] { tap.counts[world] = n; });
}

}  // namespace hotloop
