// What the collision functions take and give. Every function is pure: two geoms in, contact points out.
#pragma once
#include "sim/mujoco/model.h"
#include "sim/mujoco/spatial.h"

namespace hotloop {

// One point of contact: `dist` is the gap between the surfaces (negative: penetration) along the unit `normal`, which
// points from geom 1 to geom 2; `pos` lies midway between the surfaces. `tangent` proposes the first friction
// direction, zero where nothing suggests one.
template <class Real>
struct ContactPoint {
  Real dist;
  Vec3<Real> pos, normal, tangent;
};

// Without a hint.
template <class Real>
SIM_HD ContactPoint<Real> make_contact(Real dist, const Vec3<Real>& pos, const Vec3<Real>& normal) {
  return {dist, pos, normal, {Real(0), Real(0), Real(0)}};
}

template <class Real, int N>
struct Contacts {
  int count = 0;
  ContactPoint<Real> at[N];
};

// A geom in the world. size: as mjModel.geom_size.
template <class Real>
struct Geom {
  Vec3<Real> pos;
  Quat<Real> quat;
  const Real* size;
};

// Appends while there is room. For few points the position in the array is a selection, not an index, so that the
// array can live in registers.
template <class Real, int N>
SIM_HD void append(Contacts<Real, N>& contacts, const ContactPoint<Real>& point) {
  if constexpr (N <= 2) {
    unrolled<N>([&](int k) {
      if (k == contacts.count) contacts.at[k] = point;
    });
  } else if (contacts.count < N) {
    contacts.at[contacts.count] = point;
  }
  if (contacts.count < N) ++contacts.count;
}

// Rounding error of one operation, relative.
SIM_HD constexpr float rounding(float) { return 5.9604645e-8f; }
SIM_HD constexpr double rounding(double) { return 1.1102230246251565e-16; }

// The geom's z axis: the normal of a plane, the axis of a capsule or cylinder.
template <class Real>
SIM_HD Vec3<Real> z_axis(const Quat<Real>& q) {
  return column(matrix(q), 2);
}

// The first tangent of a contact frame by MuJoCo's rule (mju_makeFrame): the hint, or y where there is none, or z where
// the normal is closer than 60 degrees to the y axis; then orthogonal to the normal. The second is cross(normal,
// first).
template <class Real>
SIM_HD Vec3<Real> contact_frame(const Vec3<Real>& normal, const Vec3<Real>& hint) {
  Vec3<Real> t = hint;
  if (dot(hint, hint) < Real(0.25)) {
    const bool use_y = normal.y < Real(0.5) && normal.y > Real(-0.5);
    t = {Real(0), use_y ? Real(1) : Real(0), use_y ? Real(0) : Real(1)};
  }
  Real len;
  return normalized(t - dot(normal, t) * normal, len);
}

}  // namespace hotloop
