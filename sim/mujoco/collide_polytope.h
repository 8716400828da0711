// Collisions with boxes and cylinders. Each pair has its own rules in MuJoCo (engine_collision_primitive.c and
// engine_collision_box.c); results equal its, in order and number.
#pragma once
#include "sim/mujoco/collide_box_box.h"
#include "sim/mujoco/collide_capsule_box.h"
#include "sim/mujoco/collide_capsule_cylinder.h"
#include "sim/mujoco/collide_round.h"

namespace hotloop {

// A corner of the box with half sizes `size`, in its own frame: bit k of `which` selects the positive end of axis k.
template <class Real>
SIM_HD Vec3<Real> box_corner(const Vec3<Real>& size, int which) {
  return {(which & 1) != 0 ? size.x : -size.x, (which & 2) != 0 ? size.y : -size.y,
          (which & 4) != 0 ? size.z : -size.z};
}

// Up to four points: the rim's nearest and, straight above or below it, that of the other cap; and if the nearer cap
// lies nearly flat, two more of its rim that make a triangle with the first.
template <class Real, class Found>
SIM_HD void plane_cylinder(const Geom<Real>& plane, const Geom<Real>& cylinder, Real margin, Found found) {
  const Vec3<Real> normal = z_axis(plane.quat);
  const Mat3<Real> turn = matrix(cylinder.quat);
  const Vec3<Real> slope = transposed_times(turn, normal);                         // the normal in the cylinder's frame
  const Vec3<Real> axis = slope.z > Real(0) ? -column(turn, 2) : column(turn, 2);  // towards the plane
  const Real radius = cylinder.size[0], noise = Real(4) * rounding(Real());
  const Real square = slope.x * slope.x + slope.y * slope.y;
  const bool flat = square < maximum(kTiny<Real>() * kTiny<Real>(), noise * noise);
  const Real across = flat ? Real(1) : square_root(square);
  const Vec3<Real> rim =
      flat ? radius * column(turn, 0) : turn * ((-radius / across) * Vec3<Real>{slope.x, slope.y, Real(0)});
  const Vec3<Real> cap = cylinder.size[1] * axis;
  const Real center = dot(cylinder.pos - plane.pos, normal);
  const Real cap_height = -cylinder.size[1] * absolute(slope.z),
             rim_height = flat ? radius * slope.x : -radius * across;

  const auto add = [&](Real dist, const Vec3<Real>& offset) {
    if (dist > margin) return;
    found(make_contact(dist, cylinder.pos + offset - (Real(0.5) * dist) * normal, normal));
  };
  const Real nearest = center + cap_height + rim_height;
  if (nearest > margin) return;
  add(nearest, rim + cap);
  add(center - cap_height + rim_height, rim - cap);
  Real len;
  const Vec3<Real> side = (radius * Real(0.8660254037844386)) * normalized(cross(rim, cap), len);
  const Real third = center + cap_height - Real(0.5) * rim_height;
  add(third, side + cap - Real(0.5) * rim);
  add(third, cap - side - Real(0.5) * rim);
}

// The first four corners, in the order of their bits, of those within the margin on the plane's side of the centre.
template <class Real, class Found>
SIM_HD void plane_box(const Geom<Real>& plane, const Geom<Real>& box, Real margin, Found found) {
  const Vec3<Real> normal = z_axis(plane.quat), size = load3(box.size);
  const Real center = dot(box.pos - plane.pos, normal);
  int count = 0;
  for (int k = 0; k < 8 && count < 4; ++k) {
    const Vec3<Real> corner = rotate(box.quat, box_corner(size, k));
    const Real height = dot(normal, corner), dist = center + height;
    if (dist > margin || height > Real(0)) continue;
    found(make_contact(dist, box.pos + corner - (Real(0.5) * dist) * normal, normal));
    ++count;
  }
}

// Against the side, a cap or a rim, whichever the centre faces; from inside, the nearer of side and cap.
template <class Real, class Found>
SIM_HD void sphere_cylinder(const Geom<Real>& sphere, const Geom<Real>& cylinder, Real margin, Found found) {
  const Vec3<Real> axis = z_axis(cylinder.quat), z = z_axis(sphere.quat), apart = sphere.pos - cylinder.pos;
  const Real radius = cylinder.size[0], half = cylinder.size[1];
  const Real along = dot(axis, apart);
  const Vec3<Real> across = apart - along * axis;
  const Real square = dot(across, across);
  bool at_side = absolute(along) < half, at_cap = square < radius * radius;
  if (at_side && at_cap) {
    at_side = !(half - absolute(along) < radius - square_root(square));
    at_cap = !at_side;
  }
  const Real end = along > Real(0) ? Real(1) : Real(-1);
  ContactPoint<Real> point;
  bool touches;
  if (at_side) {
    touches = touch_spheres(sphere.pos, sphere.size[0], z, cylinder.pos + along * axis, radius, axis, margin, point);
  } else if (at_cap) {
    touches = touch_plane(end * axis, cylinder.pos + (end * half) * axis, sphere.pos, sphere.size[0], margin, point);
    point.normal = -(end * axis);
  } else {
    const Real out = square > Real(0) ? radius / square_root(square) : Real(0);
    const Vec3<Real> rim = cylinder.pos + (end * half) * axis + out * across;
    touches = touch_spheres(sphere.pos, sphere.size[0], z, rim, Real(0), axis, margin, point);
  }
  if (touches) found(point);
}

// A sphere, centre in the box's frame, against the box; the contact in the box's frame.
template <class Real>
SIM_HD bool touch_box(const Vec3<Real>& center, Real radius, const Vec3<Real>& size, Real margin,
                      ContactPoint<Real>& point) {
  const Vec3<Real> nearest{clamp(center.x, -size.x, size.x), clamp(center.y, -size.y, size.y),
                           clamp(center.z, -size.z, size.z)};
  Real dist;
  Vec3<Real> normal = normalized(nearest - center, dist);
  if (dist - radius > margin) return false;
  if (dist > kTiny<Real>()) {
    point.pos = Real(0.5) * (nearest + center + radius * normal);
  } else {  // the centre is inside: out through the nearest face
    Real depth = Real(2) * (size.x + size.y + size.z);
    const auto face = [&](Real gap, const Vec3<Real>& inward) {
      if (!(absolute(gap) < depth)) return;
      depth = absolute(gap);
      normal = inward;
    };
    face(size.x + center.x, {Real(1), Real(0), Real(0)});
    face(size.x - center.x, {Real(-1), Real(0), Real(0)});
    face(size.y + center.y, {Real(0), Real(1), Real(0)});
    face(size.y - center.y, {Real(0), Real(-1), Real(0)});
    face(size.z + center.z, {Real(0), Real(0), Real(1)});
    face(size.z - center.z, {Real(0), Real(0), Real(-1)});
    dist = -depth;
    point.pos = center + (Real(0.5) * (radius - depth)) * normal;
  }
  point.normal = normal;
  point.dist = dist - radius;
  point.tangent = {Real(0), Real(0), Real(0)};
  return true;
}

template <class Real>
SIM_HD ContactPoint<Real> to_world(const Vec3<Real>& pos, const Mat3<Real>& turn, const ContactPoint<Real>& local) {
  return {local.dist, pos + turn * local.pos, turn * local.normal, local.tangent};
}

template <class Real, class Found>
SIM_HD void sphere_box(const Geom<Real>& sphere, const Geom<Real>& box, Real margin, Found found) {
  const Mat3<Real> turn = matrix(box.quat);
  ContactPoint<Real> point;
  if (touch_box(transposed_times(turn, sphere.pos - box.pos), sphere.size[0], load3(box.size), margin, point))
    found(to_world(box.pos, turn, point));
}

template <class Real, class Found>
SIM_HD void capsule_box(const Geom<Real>& capsule, const Geom<Real>& box, Real margin, Found found) {
  const Mat3<Real> turn = matrix(box.quat);
  const Vec3<Real> size = load3(box.size);
  const Real radius = capsule.size[0], half = capsule.size[1];
  // MuJoCo's bound of a squared distance by a length: none where sizes are below a metre
  const Real reach = margin + Real(2) * (radius + half + size.x + size.y + size.z);
  const auto touch = [&](const Vec3<Real>& center) {
    ContactPoint<Real> point;
    if (touch_box(center, radius, size, margin, point)) found(to_world(box.pos, turn, point));
  };
  touch_along_segment(transposed_times(turn, capsule.pos - box.pos),
                      half * transposed_times(turn, z_axis(capsule.quat)), reach, size, touch);
}

template <class Real, class Found>
SIM_HD void capsule_cylinder(const Geom<Real>& capsule, const Geom<Real>& cylinder, Real margin, Found found) {
  const Mat3<Real> turn = matrix(cylinder.quat);
  SegmentAndCylinder<Real> pair;
  pair.center = transposed_times(turn, capsule.pos - cylinder.pos);
  pair.axis = transposed_times(turn, z_axis(capsule.quat));
  pair.half = capsule.size[1] * pair.axis;
  pair.radius = cylinder.size[0];
  pair.height = cylinder.size[1];
  touch_capsule_cylinder(pair, capsule.size[0], margin,
                         [&](Real dist, const Vec3<Real>& pos, const Vec3<Real>& normal) {
                           found(to_world(cylinder.pos, turn, make_contact(dist, pos, normal)));
                         });
}

template <class Real>
SIM_HD Mat3<Real> transposed(const Mat3<Real>& m) {
  return {column(m, 0), column(m, 1), column(m, 2)};
}

template <class Real, class Found>
SIM_HD void box_box(const Geom<Real>& a, const Geom<Real>& b, Real margin, Found found) {
  const Mat3<Real> turn1 = matrix(a.quat), turn2 = matrix(b.quat);
  BoxPair<Real> pair;
  pair.size1 = load3(a.size);
  pair.size2 = load3(b.size);
  pair.center = transposed_times(turn1, b.pos - a.pos);
  pair.back = transposed_times(turn2, a.pos - b.pos);
  pair.turn =
      transposed(Mat3<Real>{transposed_times(turn1, column(turn2, 0)), transposed_times(turn1, column(turn2, 1)),
                            transposed_times(turn1, column(turn2, 2))});
  const Vec3<Real> sum = pair.size1 + pair.size2;
  pair.slack = margin + BoxTolerance<Real>::separation * (sum.x + sum.y + sum.z);
  if (!pair.choose_axis()) return;
  if (pair.code >= 6) {
    ContactPoint<Real> point;
    if (pair.touch_edges(point)) found(to_world(a.pos, turn1, point));
    return;
  }
  const bool first = pair.code < 3;  // whose face
  const int k = first ? pair.code : pair.code - 3;
  const Vec3<Real> center = first ? pair.center : pair.back;
  const Vec3<Real> outward =
      component(center, k) >= Real(0) ? column(first ? turn1 : turn2, k) : -column(first ? turn1 : turn2, k);
  touch_face(
      k, first ? pair.size1 : pair.size2, first ? pair.size2 : pair.size1, center,
      first ? pair.turn : transposed(pair.turn), margin, [&](const Vec3<Real>& pos, Real dist) {
        found(make_contact(dist, (first ? a.pos : b.pos) + (first ? turn1 : turn2) * pos, first ? outward : -outward));
      });
}

// Calls found(ContactPoint) for each contact, in MuJoCo's order; none for kinds of other files. Nothing is kept in
// memory: a kernel can write contacts where they belong. kinds: bit set of the kinds that occur; where it is a constant
// the others take no code.
template <class Real, class Found>
SIM_HD void touch_polytope(PairKind kind, const Geom<Real>& a, const Geom<Real>& b, Real margin, Found found,
                           int kinds = -1) {
  const auto occurs = [&](PairKind k) { return (kinds >> static_cast<int>(k) & 1) != 0; };
  switch (kind) {
    case PairKind::plane_cylinder:
      if (occurs(PairKind::plane_cylinder)) plane_cylinder(a, b, margin, found);
      return;
    case PairKind::plane_box:
      if (occurs(PairKind::plane_box)) plane_box(a, b, margin, found);
      return;
    case PairKind::sphere_cylinder:
      if (occurs(PairKind::sphere_cylinder)) sphere_cylinder(a, b, margin, found);
      return;
    case PairKind::sphere_box:
      if (occurs(PairKind::sphere_box)) sphere_box(a, b, margin, found);
      return;
    case PairKind::capsule_cylinder:
      if (occurs(PairKind::capsule_cylinder)) capsule_cylinder(a, b, margin, found);
      return;
    case PairKind::capsule_box:
      if (occurs(PairKind::capsule_box)) capsule_box(a, b, margin, found);
      return;
    case PairKind::box_box:
      if (occurs(PairKind::box_box)) box_box(a, b, margin, found);
      return;
    default:
      return;
  }
}

template <class Real>
SIM_HD Contacts<Real, 8> collide_polytope(PairKind kind, const Geom<Real>& a, const Geom<Real>& b, Real margin) {
  Contacts<Real, 8> contacts;
  touch_polytope(kind, a, b, margin, [&](const ContactPoint<Real>& point) { append(contacts, point); });
  return contacts;
}

// All pairs.
template <class Real>
SIM_HD Contacts<Real, 8> collide_any(int kinds, PairKind kind, const Geom<Real>& a, const Geom<Real>& b, Real margin) {
  Contacts<Real, 8> contacts;
  const Contacts<Real, 2> round = collide_round(kind, a, b, margin);
  if (round.count > 0) append(contacts, round.at[0]);
  if (round.count > 1) append(contacts, round.at[1]);
  touch_polytope(
      kind, a, b, margin, [&](const ContactPoint<Real>& point) { append(contacts, point); }, kinds);
  return contacts;
}

}  // namespace hotloop
