// Capsule against cylinder. MuJoCo solves this pair with its general convex code (GJK, then EPA in penetration) to
// ccd_tolerance; here the same contact comes from the geometry: nearest points of segment and cylinder while the
// segment is outside, the shortest way out once it has entered. Where a capsule lies flat on a cap, MuJoCo 4 makes two
// contacts, the capsule's facing line cut by the cap, which it takes as a polygon of 16 corners; so does this.
#pragma once
#include "sim/mujoco/contact.h"

namespace hotloop {

// The segment center + t * half, t in [-1, 1], in the frame of the cylinder.
template <class Real>
struct SegmentAndCylinder {
  Vec3<Real> center, half, axis;  // axis: unit, along half
  Real radius, height;            // of the cylinder; height is half its length

  // What is found: the point of the segment, the direction from it to the cylinder, the signed distance.
  Vec3<Real> point = {0, 0, 0}, normal = {0, 0, 0};
  Real distance = 0;

  SIM_HD Vec3<Real> at(Real t) const { return center + t * half; }
  static SIM_HD Real across(const Vec3<Real>& p) { return square_root(p.x * p.x + p.y * p.y); }

  // From the cylinder's nearest point to p; zero inside.
  SIM_HD Vec3<Real> gap(const Vec3<Real>& p) const {
    const Real rho = across(p), over = absolute(p.z) - height;
    const Real out = rho > radius ? (rho - radius) / rho : Real(0);
    return {out * p.x, out * p.y, over > Real(0) ? (p.z > Real(0) ? over : -over) : Real(0)};
  }
  // Where the segment, as a line seen along the cylinder's axis, is nearest to that axis.
  SIM_HD Real nearest_to_axis() const {
    const Real square = half.x * half.x + half.y * half.y;
    if (!(square > Real(0))) return Real(0);
    return clamp(-(center.x * half.x + center.y * half.y) / square, Real(-1), Real(1));
  }

  // The segment's nearest point. The distance to a convex body is convex along the segment, so its slope has one sign
  // change; bisection needs no case for rim, cap and side.
  SIM_HD void find_nearest() {
    Real t = nearest_to_axis();
    const Vec3<Real> p = at(t);
    if (!(absolute(t) < Real(1) && absolute(p.z) <= height)) {
      Real low = -1, high = 1;
      while (high - low > Real(2) * rounding(Real())) {
        t = Real(0.5) * (low + high);
        const bool rises = dot(gap(at(t)), half) > Real(0);
        (rises ? high : low) = t;
      }
    }
    point = at(t);
    const Vec3<Real> g = gap(point);
    normal = normalized(-g, distance);
  }

  SIM_HD void keep_shalfacing(Real depth, const Vec3<Real>& way, const Vec3<Real>& p) {
    if (!(-depth > distance)) return;
    distance = -depth;
    normal = way;
    point = p;
  }

  // Shortest way out: through a cap, through the side, or past a rim.
  SIM_HD void find_way_out() {
    const Real up = center.z >= Real(0) ? Real(1) : Real(-1);
    distance = -Real(1e30);
    keep_shalfacing(height - up * center.z + absolute(half.z), {Real(0), Real(0), -up},
                    at(up * half.z > Real(0) ? Real(-1) : Real(1)));
    const Vec3<Real> level{-axis.y, axis.x, Real(0)};  // horizontal, orthogonal to the segment
    Real slope;                                        // of the segment: its part orthogonal to the cylinder's axis
    const Vec3<Real> u = normalized(level, slope), p = at(nearest_to_axis());
    const Real rho = across(p);
    const Vec3<Real> outward{p.x, p.y, Real(0)};
    keep_shalfacing(radius - rho, rho > kTiny<Real>() ? (Real(-1) / rho) * outward : u, p);
    if (slope < Real(1e-6)) return;
    const Vec3<Real> v = cross(axis, u);
    past_rim(u, v);
    past_rim(u, -v);
  }

  // Ways out orthogonal to the segment, cos(angle) u + sin(angle) v, angle in (0, pi), touch the cylinder at the rim
  // of the cap that v points to. depth(angle) is smooth: its least sample, then its slope's change of sign.
  SIM_HD void past_rim(const Vec3<Real>& u, const Vec3<Real>& v) {
    constexpr int kSamples = 8;
    constexpr Real kStep = Real(kPi / kSamples);
    Real depth, slope, least = Real(1e30);
    int best = 0;
    for (int k = 0; k < kSamples; ++k) {
      rim_depth((Real(k) + Real(0.5)) * kStep, u, v, depth, slope);
      if (depth < least) best = k;
      least = minimum(least, depth);
    }
    if (!(-least > distance - kStep * radius)) return;  // refining gains less than that
    Real low = maximum((Real(best) - Real(0.5)) * kStep, Real(1e-4));
    Real high = minimum((Real(best) + Real(1.5)) * kStep, Real(kPi) - Real(1e-4));
    while (high - low > Real(16) * rounding(Real())) {
      const Real middle = Real(0.5) * (low + high);
      rim_depth(middle, u, v, depth, slope);
      (slope > Real(0) ? high : low) = middle;
    }
    const Vec3<Real> way = rim_depth(low, u, v, depth, slope);
    const Real flat = across(way);
    if (!(flat > kTiny<Real>())) return;
    const Vec3<Real> rim{radius / flat * way.x, radius / flat * way.y, v.z > Real(0) ? height : -height};
    const Real square = dot(half, half);
    const Real t = square > Real(0) ? clamp(dot(rim - center, half) / square, Real(-1), Real(1)) : Real(0);
    keep_shalfacing(depth, -way, at(t));
  }
  SIM_HD Vec3<Real> rim_depth(Real angle, const Vec3<Real>& u, const Vec3<Real>& v, Real& depth, Real& slope) const {
    Real s, c;
    sin_cos(angle, s, c);
    const Vec3<Real> way = c * u + s * v, turned = c * v - s * u;
    const Real flat = across(way);
    depth = radius * flat + height * absolute(way.z) - dot(center, way);
    const Real flat_turned = flat > kTiny<Real>() ? -way.z * turned.z / flat : Real(0);
    slope = radius * flat_turned + (v.z > Real(0) ? height : -height) * turned.z - dot(center, turned);
    return way;
  }
};

// Cuts the segment from..to, seen along z, with the regular polygon of 16 corners, one of them at (radius, 0). cut: bit
// k says that end k has moved.
template <class Real>
SIM_HD bool clip_to_cap(Vec3<Real>& from, Vec3<Real>& to, Real radius, int& cut) {
  const Vec3<Real> step = to - from;
  const Real inner = radius * Real(0.98078528040323044913);                 // cos(pi / 16)
  Real c = Real(0.98078528040323044913), s = Real(0.19509032201612826785);  // the first side's normal: at pi / 16
  Real low = 0, high = 1;
  for (int k = 0; k < 8; ++k) {  // opposite sides are a slab
    const Real x = c * from.x + s * from.y, d = c * step.x + s * step.y;
    if (absolute(d) > Real(1e-12) * radius) {
      const Real t1 = (-inner - x) / d, t2 = (inner - x) / d;
      low = maximum(low, minimum(t1, t2));
      high = minimum(high, maximum(t1, t2));
    } else if (absolute(x) > inner) {
      return false;
    }
    const Real turned = c * Real(0.92387953251128675613) - s * Real(0.38268343236508977173);  // by pi / 8
    s = s * Real(0.92387953251128675613) + c * Real(0.38268343236508977173);
    c = turned;
  }
  if (low > high) return false;
  cut = (low > Real(0) ? 1 : 0) | (high < Real(1) ? 2 : 0);
  to = from + high * step;
  from = from + low * step;
  return true;
}

// Calls found(dist, position, normal) in the cylinder's frame for each contact with dist < margin.
template <class Real, class Found>
SIM_HD void touch_capsule_cylinder(SegmentAndCylinder<Real>& pair, Real radius, Real margin, Found found) {
  constexpr Real kEdgeSine = Real(0.0888);  // MuJoCo's mjEDGE_TOL
  pair.find_nearest();
  if (!(pair.distance > Real(1e-6))) pair.find_way_out();
  const Real dist = pair.distance - radius;
  if (!(dist < margin)) return;
  const Vec3<Real> n = pair.normal;
  if (n.z != Real(0) && absolute(pair.axis.z) < kEdgeSine) {  // not on the side
    const Real up = n.z < Real(0) ? Real(1) : Real(-1), fat = radius + Real(0.5) * margin;
    const Vec3<Real> cap{Real(0), Real(0), -up};
    const Vec3<Real> facing = pair.center + fat * (n - dot(n, pair.axis) * pair.axis);
    Vec3<Real> ends[2] = {facing - pair.half, facing + pair.half};
    int cut = 0;
    if (clip_to_cap(ends[0], ends[1], pair.radius, cut)) {
      const Real depths[2] = {up * ends[0].z - pair.height - Real(0.5) * margin,
                              up * ends[1].z - pair.height - Real(0.5) * margin};
      const bool near[2] = {!(depths[0] > Real(0)), !(depths[1] > Real(0))};
      unrolled<2>([&](int k) {
        if (!near[k]) return;
        const Vec3<Real> pos{ends[k].x, ends[k].y, ends[k].z - up * Real(0.5) * depths[k]};
        found(depths[k] + margin, pos, cap);
        // MuJoCo's clipping leaves a cut end twice, and drops the copy only if the other end is there
        if (!near[1 - k] && (cut >> k & 1) != 0) found(depths[k] + margin, pos, cap);
      });
      if (near[0] || near[1]) return;
    }
  }
  found(dist, pair.point + (radius + Real(0.5) * dist) * n, n);
}

}  // namespace hotloop
