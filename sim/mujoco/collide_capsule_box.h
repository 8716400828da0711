// Capsule against box: the sphere at the point of the capsule's segment nearest to the box's surface, and a second one
// further along the segment where it runs along a face or an edge. The rules, special cases and order of comparisons
// are MuJoCo's (engine_collision_box.c), since they decide between one contact and two.
#pragma once
#include "sim/mujoco/contact.h"

namespace hotloop {

template <class Real>
SIM_HD Real component(const Vec3<Real>& v, int k) {
  return k == 0 ? v.x : (k == 1 ? v.y : v.z);
}
template <class Real>
SIM_HD void set_component(Vec3<Real>& v, int k, Real x) {
  if (k == 0) v.x = x;
  if (k == 1) v.y = x;
  if (k == 2) v.z = x;
}

// The segment pos +- half in the box's frame, and what of the box it is nearest to. Points on segment and edge are
// numbered from -1 to 1.
template <class Real>
struct SegmentAndBox {
  enum class Nearest { nothing, face, edge, corner };

  Vec3<Real> pos, half, size;
  Nearest nearest = Nearest::nothing;
  Real best = 0;        // squared distance
  Real along = 0;       // point of the segment
  Real edge_along = 0;  // point of the edge
  int axis = 0;         // of the face's normal (-1: the end is inside the box) or of the edge
  int corner = 0;       // nearest corner, bits as in box_corner; of an edge's inside the lower end

  // Faces: an end of the segment that at most one pair of faces keeps from being inside.
  SIM_HD void try_end(Real end) {
    const Vec3<Real> tip = pos + end * half;
    Real square = 0;
    int outside = 0, last = -1;
    unrolled<3>([&](int k) {
      const Real s = component(size, k), x = component(tip, k), over = absolute(x) - s;
      if (!(over > Real(0))) return;
      ++outside;
      last = k;
      square = over * over;
    });
    if (outside > 1 || !(square < best)) return;
    best = square;
    along = end;
    nearest = Nearest::face;
    axis = last;
  }

  // The edge along axis k through the corner `which` (its bit k is clear). The line's nearest point comes from the
  // plane orthogonal to the edge: the determinant of the normal equations cancels badly in single precision.
  SIM_HD void try_edge(int k, int which) {
    const Real s = component(size, k), h = component(half, k);
    Vec3<Real> apart = Vec3<Real>{(which & 1) != 0 ? size.x : -size.x, (which & 2) != 0 ? size.y : -size.y,
                                  (which & 4) != 0 ? size.z : -size.z} -
                       pos;
    set_component(apart, k, -component(pos, k));
    Vec3<Real> across = half;
    set_component(across, k, Real(0));
    const Real across_square = dot(across, across), square = dot(half, half), offset = component(apart, k);
    if (!(s * s * across_square >= kTiny<Real>())) return;
    Real x = dot(across, apart) / across_square;
    Real y = (h * x - offset) / s;
    bool at_end = false, upper = false;
    const auto clamp_edge = [&] {
      if (!(absolute(y) > Real(1))) return;
      at_end = true;
      upper = y > Real(0);
      y = upper ? Real(1) : Real(-1);
    };
    clamp_edge();
    if (at_end) x = (dot(half, apart) + y * s * h) / square;
    if (absolute(x) > Real(1)) {
      x = x > Real(0) ? Real(1) : Real(-1);
      y = (h * x - offset) / s;
      clamp_edge();
    }
    Vec3<Real> gap = apart - x * half;
    set_component(gap, k, component(gap, k) + s * y);
    const Real distance = dot(gap, gap);
    if (!(distance < best - kTiny<Real>())) return;
    best = distance;
    along = x;
    edge_along = y;
    nearest = at_end ? Nearest::corner : Nearest::edge;
    axis = k;
    corner = which + (upper ? 1 << k : 0);
  }

  // Length of the segment, in its numbers, over which axis k crosses `width`.
  SIM_HD Real span(int k, Real width) const {
    const Real h = absolute(component(half, k));
    return h > Real(0) ? width / h : Real(1e30);
  }
  SIM_HD Real whole_span(int k) const { return span(k, Real(2) * component(size, k)); }
  // Bit k: the segment's direction along axis k is positive.
  SIM_HD int directions() const {
    return (half.x > Real(0) ? 1 : 0) | (half.y > Real(0) ? 2 : 0) | (half.z > Real(0) ? 4 : 0);
  }
  static SIM_HD bool one_bit(int bits) { return bits == 1 || bits == 2 || bits == 4; }

  // Step along the segment to the second point; false where there is none.
  SIM_HD bool second_from_corner(Real& step) const {
    int bits = directions() ^ corner;
    if (bits == 0 || bits == 7) return false;  // the segment points at the corner or away from it
    const Real sense = one_bit(bits) ? Real(1) : Real(-1);
    if (!one_bit(bits)) bits = 7 - bits;
    const int k = bits >> 1;
    const Real h = component(half, k);
    if (h * h > Real(0.5) * dot(half, half)) {  // along the edge
      step = sense * minimum(Real(1) - sense * along, whole_span(k));
    } else {  // along the face
      step = -sense *
             minimum(minimum(Real(1) + sense * along, whole_span(k == 2 ? 0 : k + 1)), whole_span(k == 0 ? 2 : k - 1));
    }
    return true;
  }
  SIM_HD bool second_from_edge(Real& step) const {
    const int bits = directions() ^ corner, across = bits & (7 - (1 << axis));
    if (!one_bit(across)) return false;  // the segment crosses the edge like the stroke of a T
    const int next = axis == 2 ? 0 : axis + 1, last = axis == 0 ? 2 : axis - 1;
    const bool by_next = absolute(component(half, next)) > absolute(component(half, last));
    const int k = by_next ? next : last;  // the segment lies flatter on the face whose plane holds this axis
    const bool forward = (across & (1 << k)) != 0;
    const Real sense = forward ? Real(1) : Real(-1);
    const bool towards_upper = ((directions() & (1 << axis)) != 0) == forward;
    const Real left = towards_upper ? Real(1) - edge_along : Real(1) + edge_along;
    step = sense * minimum(minimum(Real(1) - sense * along, whole_span(k)), span(axis, component(size, axis) * left));
    return true;
  }
  SIM_HD bool second_from_face(Real& step) const {
    if (axis < 0) return false;
    const Vec3<Real> tip = pos + along * half;
    Real most = 2;  // to the other end
    unrolled<3>([&](int k) {
      if (k == axis) return;
      const Real slope = -along * component(half, k), s = component(size, k), x = component(tip, k);
      const Real high = (s - x) / slope, low = (-s - x) / slope;
      if (high > Real(0)) most = minimum(most, high);
      if (low > Real(0)) most = minimum(most, low);
    });
    step = -along * most;
    return true;
  }
  SIM_HD bool second(Real& step) const {
    if (nearest == Nearest::corner) return second_from_corner(step);
    return nearest == Nearest::edge ? second_from_edge(step) : second_from_face(step);
  }
};

// The segment, centre and half axis in the box's frame, against the box. Calls touch(point of the segment) at most
// twice.
template <class Real, class Touch>
SIM_HD void touch_along_segment(const Vec3<Real>& pos, const Vec3<Real>& half, Real reach, const Vec3<Real>& size,
                                Touch touch) {
  SegmentAndBox<Real> pair;
  pair.pos = pos;
  pair.half = half;
  pair.size = size;
  pair.best = reach;
  pair.try_end(Real(-1));
  pair.try_end(Real(1));
  for (int k = 0; k < 3; ++k)
    for (int which = 0; which < 8; ++which)
      if ((which & (1 << k)) == 0) pair.try_edge(k, which);
  if (pair.nearest == SegmentAndBox<Real>::Nearest::nothing) return;
  touch(pos + pair.along * half);
  Real step = 0;
  if (pair.second(step)) touch(pos + (pair.along + step) * half);
}

}  // namespace hotloop
