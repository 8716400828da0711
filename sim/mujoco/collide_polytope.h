// Collisions with boxes and cylinders. Each pair has its own rules in MuJoCo (engine_collision_primitive.c and
// engine_collision_box.c); results equal its, in order and number.
#pragma once
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
template <class Real>
SIM_HD Contacts<Real, 8> plane_cylinder(const Geom<Real>& plane, const Geom<Real>& cylinder, Real margin) {
  Contacts<Real, 8> found;
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
    append(found, {dist, cylinder.pos + offset - (Real(0.5) * dist) * normal, normal, {Real(0), Real(0), Real(0)}});
  };
  add(center + cap_height + rim_height, rim + cap);
  if (found.count == 0) return found;
  add(center - cap_height + rim_height, rim - cap);
  Real len;
  const Vec3<Real> side = (radius * Real(0.8660254037844386)) * normalized(cross(rim, cap), len);
  const Real third = center + cap_height - Real(0.5) * rim_height;
  add(third, side + cap - Real(0.5) * rim);
  add(third, cap - side - Real(0.5) * rim);
  return found;
}

// The first four corners, in the order of their bits, of those within the margin on the plane's side of the centre.
template <class Real>
SIM_HD Contacts<Real, 8> plane_box(const Geom<Real>& plane, const Geom<Real>& box, Real margin) {
  Contacts<Real, 8> found;
  const Vec3<Real> normal = z_axis(plane.quat), size = load3(box.size);
  const Real center = dot(box.pos - plane.pos, normal);
  for (int k = 0; k < 8 && found.count < 4; ++k) {
    const Vec3<Real> corner = rotate(box.quat, box_corner(size, k));
    const Real height = dot(normal, corner), dist = center + height;
    if (dist > margin || height > Real(0)) continue;
    append(found, {dist, box.pos + corner - (Real(0.5) * dist) * normal, normal, {Real(0), Real(0), Real(0)}});
  }
  return found;
}

// Against the side, a cap or a rim, whichever the centre faces; from inside, the nearer of side and cap.
template <class Real>
SIM_HD Contacts<Real, 8> sphere_cylinder(const Geom<Real>& sphere, const Geom<Real>& cylinder, Real margin) {
  Contacts<Real, 8> found;
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
  if (touches) append(found, point);
  return found;
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

template <class Real>
SIM_HD Contacts<Real, 8> sphere_box(const Geom<Real>& sphere, const Geom<Real>& box, Real margin) {
  Contacts<Real, 8> found;
  const Mat3<Real> turn = matrix(box.quat);
  ContactPoint<Real> point;
  if (touch_box(transposed_times(turn, sphere.pos - box.pos), sphere.size[0], load3(box.size), margin, point))
    append(found, to_world(box.pos, turn, point));
  return found;
}

template <class Real>
SIM_HD Contacts<Real, 8> capsule_box(const Geom<Real>& capsule, const Geom<Real>& box, Real margin) {
  Contacts<Real, 8> found;
  const Mat3<Real> turn = matrix(box.quat);
  const Vec3<Real> size = load3(box.size);
  const Real radius = capsule.size[0], half = capsule.size[1];
  // MuJoCo's bound of a squared distance by a length: none where sizes are below a metre
  const Real reach = margin + Real(2) * (radius + half + size.x + size.y + size.z);
  const auto touch = [&](const Vec3<Real>& center) {
    ContactPoint<Real> point;
    if (touch_box(center, radius, size, margin, point)) append(found, to_world(box.pos, turn, point));
  };
  touch_along_segment(transposed_times(turn, capsule.pos - box.pos),
                      half * transposed_times(turn, z_axis(capsule.quat)), reach, size, touch);
  return found;
}

template <class Real>
SIM_HD Contacts<Real, 8> capsule_cylinder(const Geom<Real>& capsule, const Geom<Real>& cylinder, Real margin) {
  Contacts<Real, 8> found;
  const Mat3<Real> turn = matrix(cylinder.quat);
  SegmentAndCylinder<Real> pair;
  pair.center = transposed_times(turn, capsule.pos - cylinder.pos);
  pair.axis = transposed_times(turn, z_axis(capsule.quat));
  pair.half = capsule.size[1] * pair.axis;
  pair.radius = cylinder.size[0];
  pair.height = cylinder.size[1];
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  touch_capsule_cylinder(pair, capsule.size[0], margin,
                         [&](Real dist, const Vec3<Real>& pos, const Vec3<Real>& normal) {
                           append(found, to_world(cylinder.pos, turn, {dist, pos, normal, zero}));
                         });
  return found;
}

// No contacts for kinds of other files.
template <class Real>
SIM_HD Contacts<Real, 8> collide_polytope(PairKind kind, const Geom<Real>& a, const Geom<Real>& b, Real margin) {
  switch (kind) {
    case PairKind::plane_cylinder:
      return plane_cylinder(a, b, margin);
    case PairKind::plane_box:
      return plane_box(a, b, margin);
    case PairKind::sphere_cylinder:
      return sphere_cylinder(a, b, margin);
    case PairKind::sphere_box:
      return sphere_box(a, b, margin);
    case PairKind::capsule_cylinder:
      return capsule_cylinder(a, b, margin);
    case PairKind::capsule_box:
      return capsule_box(a, b, margin);
    default:
      return {};
  }
}

}  // namespace hotloop
