// Collisions of planes, spheres and capsules. A capsule collides as the sphere at the point of its segment that is
// nearest to the other geom. Results equal MuJoCo's (engine_collision_primitive.c says which cases it tells apart).
#pragma once
#include "sim/mujoco/contact.h"

namespace hotloop {

// ---- parts that other pairs use too --------------------------------------------------------------------------------

// A plane through `on_plane` against a sphere.
template <class Real>
SIM_HD bool touch_plane(const Vec3<Real>& normal, const Vec3<Real>& on_plane, const Vec3<Real>& center, Real radius,
                        Real margin, ContactPoint<Real>& point) {
  const Real height = dot(center - on_plane, normal);
  if (height > margin + radius) return false;
  point.dist = height - radius;
  point.normal = normal;
  point.pos = center - (Real(0.5) * point.dist + radius) * normal;
  point.tangent = {Real(0), Real(0), Real(0)};
  return true;
}

// Two spheres. Where the centres coincide, the normal is orthogonal to both z axes; x where these are parallel.
template <class Real>
SIM_HD bool touch_spheres(const Vec3<Real>& center1, Real radius1, const Vec3<Real>& z1, const Vec3<Real>& center2,
                          Real radius2, const Vec3<Real>& z2, Real margin, ContactPoint<Real>& point) {
  const Vec3<Real> apart = center2 - center1;
  const Real reach = margin + radius1 + radius2;
  const Real square = dot(apart, apart);
  if (square > reach * reach) return false;
  Real len;
  point.normal = normalized(apart, len);
  point.dist = len - radius1 - radius2;
  if (len < kTiny<Real>()) {
    Real sine;
    point.normal = normalized(cross(z1, z2), sine);
    if (sine < Real(4) * rounding(Real())) point.normal = {Real(1), Real(0), Real(0)};
  }
  point.pos = center1 + (radius1 + Real(0.5) * point.dist) * point.normal;
  point.tangent = {Real(0), Real(0), Real(0)};
  return true;
}

// ---- pairs ---------------------------------------------------------------------------------------------------------
// A sphere is a capsule whose size[1], the half length, is zero: one branch for all round geoms keeps the lanes of a
// warp together.

// A plane and a sphere, or both ends of a capsule; friction is aligned with the capsule.
template <class Real>
SIM_HD Contacts<Real, 2> plane_round(const Geom<Real>& plane, const Geom<Real>& round, Real margin) {
  Contacts<Real, 2> found;
  const Vec3<Real> normal = z_axis(plane.quat), axis = z_axis(round.quat);
  const bool capsule = round.size[1] > Real(0);
  for (int end = 1; end >= (capsule ? -1 : 1); end -= 2) {
    ContactPoint<Real> point;
    const Vec3<Real> center = round.pos + (Real(end) * round.size[1]) * axis;
    if (!touch_plane(normal, plane.pos, center, round.size[0], margin, point)) continue;
    if (capsule) point.tangent = axis;
    append(found, point);
  }
  return found;
}

// Two segments, centre +- axis each. Points on them are numbered from -1 to 1.
template <class Real>
struct SegmentPair {
  Vec3<Real> pos1, axis1, pos2, axis2;
  Real square1, product, square2;  // dot products of the axes
  Real along1, along2;             // the difference of the centres along each axis

  SIM_HD SegmentPair(const Vec3<Real>& p1, const Vec3<Real>& a1, const Vec3<Real>& p2, const Vec3<Real>& a2)
      : pos1(p1), axis1(a1), pos2(p2), axis2(a2) {
    square1 = dot(a1, a1);
    product = dot(a1, a2);
    square2 = dot(a2, a2);
    along1 = dot(a1, p2 - p1);
    along2 = dot(a2, p1 - p2);
  }
  // The point of segment 1 nearest to point x2 of segment 2 (its line, not yet clamped), and the reverse.
  SIM_HD Real nearest1(Real x2) const { return square1 > Real(0) ? (along1 + x2 * product) / square1 : Real(0); }
  SIM_HD Real nearest2(Real x1) const { return square2 > Real(0) ? (along2 + x1 * product) / square2 : Real(0); }

  // Nearest points of two segments; false where they are parallel to 1e-4, MuJoCo's limit. By cross products: the
  // determinant of the normal equations would lose twice the digits to cancellation, and single precision has none to
  // spare.
  SIM_HD bool nearest(Real& x1, Real& x2) const {
    const Vec3<Real> n = cross(axis1, axis2);
    const Real det = dot(n, n);
    if (!(det > Real(1e-8) * square1 * square2)) return false;
    const Vec3<Real> apart = pos2 - pos1;
    x1 = dot(cross(apart, axis2), n) / det;
    x2 = dot(cross(apart, axis1), n) / det;
    if (absolute(x1) > Real(1)) {
      x1 = x1 > Real(0) ? Real(1) : Real(-1);
      x2 = nearest2(x1);
    }
    if (absolute(x2) > Real(1)) {
      x2 = x2 > Real(0) ? Real(1) : Real(-1);
      x1 = clamp(nearest1(x2), Real(-1), Real(1));
    }
    return true;
  }
};

// One contact; two for capsules with parallel axes, where the stretch of the first segment that lies beside the second
// begins and ends, in this order. If no part of it does, MuJoCo 4 makes the same contact twice, and so does this.
template <class Real>
SIM_HD Contacts<Real, 2> round_round(const Geom<Real>& a, const Geom<Real>& b, Real margin) {
  Contacts<Real, 2> found;
  const Vec3<Real> z1 = z_axis(a.quat), z2 = z_axis(b.quat);
  const SegmentPair<Real> pair(a.pos, a.size[1] * z1, b.pos, b.size[1] * z2);
  const bool sphere = a.size[1] == Real(0) || b.size[1] == Real(0);
  Real x1 = 0, x2 = 0;
  const bool single = pair.nearest(x1, x2) || sphere;
  if (sphere) {
    x1 = clamp(pair.nearest1(Real(0)), Real(-1), Real(1));
    x2 = clamp(pair.nearest2(Real(0)), Real(-1), Real(1));
  }
  const Real first = pair.product < Real(0) ? Real(1) : Real(-1);  // end of segment 2 at the lower end of segment 1
  for (int end = 0; end < (single ? 1 : 2); ++end) {
    if (!single) {
      x2 = end == 0 ? first : -first;
      x1 = pair.nearest1(x2);
      if (absolute(x1) > Real(1)) {
        x1 = x1 > Real(0) ? Real(1) : Real(-1);
        x2 = clamp(pair.nearest2(x1), Real(-1), Real(1));
      }
    }
    ContactPoint<Real> point;
    if (touch_spheres(a.pos + x1 * pair.axis1, a.size[0], z1, b.pos + x2 * pair.axis2, b.size[0], z2, margin, point))
      append(found, point);
  }
  return found;
}

// No contacts for kinds of other files.
template <class Real>
SIM_HD Contacts<Real, 2> collide_round(PairKind kind, const Geom<Real>& a, const Geom<Real>& b, Real margin) {
  switch (kind) {
    case PairKind::plane_sphere:
    case PairKind::plane_capsule:
      return plane_round(a, b, margin);
    case PairKind::sphere_sphere:
    case PairKind::sphere_capsule:
    case PairKind::capsule_capsule:
      return round_round(a, b, margin);
    default:
      return {};
  }
}

}  // namespace hotloop
