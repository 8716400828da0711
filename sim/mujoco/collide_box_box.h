// Box against box: the axis of least overlap among 15 (faces and pairs of edges) decides between one contact of two
// edges and the corners of one face cut by the other. The rules, thresholds and preferences are MuJoCo's
// (engine_collision_box.c).
#pragma once
#include "sim/mujoco/collide_capsule_box.h"

namespace hotloop {

// Rounding allowances, MuJoCo's for each precision: of separations, relative to the boxes' sizes; of sin^2 of the angle
// between edges that count as parallel; of an axis component whose sign says nothing; of the squared distance of
// contacts that are the same, relative to the face.
template <class Real>
struct BoxTolerance;
template <>
struct BoxTolerance<float> {
  static constexpr float separation = 1e-6f, parallel = 1e-7f, sign = 1e-5f, same = 1e-10f;
};
template <>
struct BoxTolerance<double> {
  static constexpr double separation = 1e-13, parallel = 1e-16, sign = 1e-9, same = 1e-14;
};

SIM_HD constexpr int next_axis(int k) { return k == 2 ? 0 : k + 1; }
SIM_HD constexpr int previous_axis(int k) { return k == 0 ? 2 : k - 1; }

// Both boxes, in the frame of the first.
template <class Real>
struct BoxPair {
  Vec3<Real> size1, size2, center;  // half sizes; centre of box 2
  Vec3<Real> back;                  // centre of box 1 in the frame of box 2
  Mat3<Real> turn;                  // columns: the axes of box 2
  Real slack;                       // what separates must be larger
  // The axis chosen: 0..2 face of box 1, 3..5 of box 2, 6 + 3 i + j edge i of box 1 with edge j of box 2.
  int code = -1;
  Vec3<Real> axis = {0, 0, 0};  // of the edges, unit

  SIM_HD Real entry(int row, int column) const {
    return component(row == 0 ? turn.row0 : (row == 1 ? turn.row1 : turn.row2), column);
  }
  // Half the extent of a box along a direction in its frame.
  static SIM_HD Real reach(const Vec3<Real>& size, const Vec3<Real>& direction) {
    return absolute(direction.x) * size.x + absolute(direction.y) * size.y + absolute(direction.z) * size.z;
  }

  // False where some axis separates the boxes. Edges must be clearly better than the best face, whose contact has more
  // points.
  SIM_HD bool choose_axis() {
    Real best = -Real(1e10);
    bool apart = false;
    unrolled<6>([&](int k) {
      const Real separation =
          k < 3 ? absolute(component(center, k)) - component(size1, k) -
                      reach(size2, k == 0 ? turn.row0 : (k == 1 ? turn.row1 : turn.row2))
                : absolute(component(back, k - 3)) - component(size2, k - 3) - reach(size1, column(turn, k - 3));
      apart = apart || separation > slack;
      if (!(separation > best)) return;
      best = separation;
      code = k;
    });
    const Real face = best;
    const int face_code = code;
    unrolled<9>([&](int k) {
      const int i = k / 3, i1 = next_axis(i), i2 = previous_axis(i), j = k % 3;
      Vec3<Real> edges{Real(0), Real(0), Real(0)};
      set_component(edges, i1, -entry(i2, j));
      set_component(edges, i2, entry(i1, j));
      const Real square = dot(edges, edges);
      if (square < BoxTolerance<Real>::parallel) return;
      edges = (Real(1) / square_root(square)) * edges;
      Vec3<Real> in2 = transposed_times(turn, edges);
      set_component(in2, j, Real(0));
      const Real separation = absolute(dot(edges, center)) - reach(size1, edges) - reach(size2, in2);
      apart = apart || separation > slack;
      if (!(separation - Real(1e-6) * absolute(separation) > best && separation > face)) return;
      best = separation;
      code = 6 + k;
      axis = edges;
    });
    if (apart) return false;
    if (code >= 6) {  // edges that all but lie in the best face: a face, unless it is 5 percent deeper
      const Vec3<Real> in2 = transposed_times(turn, axis);
      const Real along = absolute(face_code < 3 ? component(axis, face_code) : component(in2, face_code - 3));
      if (along > Real(0.99) && best < face + Real(0.05) * absolute(face) + kTiny<Real>()) code = face_code;
    }
    return true;
  }

  // The corner of a box that is furthest along `direction` (its frame), in the middle of edge k; `flip` takes the other
  // sign of the component whose own sign is ambiguous. Returns whether there is one.
  static SIM_HD bool edge_middle(const Vec3<Real>& size, const Vec3<Real>& direction, int k, bool flip,
                                 Vec3<Real>& middle) {
    const int k1 = next_axis(k), k2 = previous_axis(k);
    const bool unsure1 = absolute(component(direction, k1)) < BoxTolerance<Real>::sign;
    const bool unsure2 = !unsure1 && absolute(component(direction, k2)) < BoxTolerance<Real>::sign;
    const bool up1 = (component(direction, k1) >= Real(0)) != (flip && unsure1);
    const bool up2 = (component(direction, k2) >= Real(0)) != (flip && unsure2);
    set_component(middle, k, Real(0));
    set_component(middle, k1, up1 ? component(size, k1) : -component(size, k1));
    set_component(middle, k2, up2 ? component(size, k2) : -component(size, k2));
    return unsure1 || unsure2;
  }

  // Two edges: the contact is in the middle between their nearest points.
  SIM_HD bool touch_edges(ContactPoint<Real>& point) const {
    const int i = (code - 6) / 3, j = (code - 6) % 3;
    const Vec3<Real> normal = dot(axis, center) < Real(0) ? -axis : axis;
    const Vec3<Real> in2 = transposed_times(turn, normal), edge2 = column(turn, j);
    const Real cosine = component(edge2, i), sine2 = Real(1) - cosine * cosine;
    Vec3<Real> nearest1{Real(0), Real(0), Real(0)}, nearest2 = nearest1;
    Real best = Real(1e30);
    for (int flips = 0; flips < 4; ++flips) {
      Vec3<Real> middle1{Real(0), Real(0), Real(0)}, middle2 = middle1;
      const bool other1 = edge_middle(size1, normal, i, (flips & 2) != 0, middle1);
      const bool other2 = edge_middle(-size2, in2, j, (flips & 1) != 0, middle2);
      if (((flips & 2) != 0 && !other1) || ((flips & 1) != 0 && !other2)) continue;
      middle2 = turn * middle2 + center;
      const Vec3<Real> between = middle2 - middle1;
      const Real along1 = component(between, i), along2 = dot(edge2, between), half1 = component(size1, i);
      Real s = sine2 < kTiny<Real>() ? Real(0) : (along1 - cosine * along2) / sine2;
      s = clamp(s, -half1, half1);
      const Real t = clamp(cosine * s - along2, -component(size2, j), component(size2, j));
      s = clamp(along1 + cosine * t, -half1, half1);
      set_component(middle1, i, s);
      middle2 = middle2 + t * edge2;
      const Real square = dot(middle2 - middle1, middle2 - middle1);
      if (!(square < best)) continue;
      best = square;
      nearest1 = middle1;
      nearest2 = middle2;
    }
    point.dist = dot(nearest2 - nearest1, normal);
    point.pos = Real(0.5) * (nearest1 + nearest2);
    point.normal = normal;
    point.tangent = {Real(0), Real(0), Real(0)};
    return !(point.dist > slack);
  }
};

// A convex polygon: the corners' x and y in the plane of a face, z their height over it.
template <class Real>
struct FacePolygon {
  static constexpr int kCapacity = 12;
  int count = 0;
  Vec3<Real> at[kCapacity];

  SIM_HD void add(const Vec3<Real>& corner) {
    if (count < kCapacity) at[count++] = corner;
  }
  // Keeps what lies at sign * component k <= limit; spare is scratch.
  SIM_HD void clip(int k, Real sign, Real limit, FacePolygon& spare) {
    bool inside = true;
    for (int c = 0; c < count; ++c) inside = inside && sign * component(at[c], k) - limit <= Real(0);
    if (inside) return;
    spare.count = 0;
    for (int c = 0; c < count; ++c) {
      const Vec3<Real> p = at[c], q = at[c + 1 == count ? 0 : c + 1];
      const Real over_p = sign * component(p, k) - limit, over_q = sign * component(q, k) - limit;
      if (over_p <= Real(0)) spare.add(p);
      if ((over_p < Real(0) && over_q > Real(0)) || (over_p > Real(0) && over_q < Real(0)))
        spare.add(p + (over_p / (over_p - over_q)) * (q - p));
    }
    count = spare.count;
    for (int c = 0; c < count; ++c) at[c] = spare.at[c];
  }
};

// A face of the reference box against the face of the other box that is turned most towards it. Everything in the
// frame of the reference box; turn: columns are the other's axes. Calls found(position, dist).
template <class Real, class Found>
SIM_HD void touch_face(int k, const Vec3<Real>& size, const Vec3<Real>& other_size, const Vec3<Real>& center,
                       const Mat3<Real>& turn, Real margin, Found found) {
  const int kx = next_axis(k), ky = previous_axis(k);
  const auto row = [&](int r) { return r == 0 ? turn.row0 : (r == 1 ? turn.row1 : turn.row2); };
  const Real side = component(center, k) >= Real(0) ? Real(1) : Real(-1);
  const Vec3<Real> facing = row(k);
  int other = 0;
  if (absolute(facing.y) > absolute(facing.x)) other = 1;
  if (absolute(facing.z) > absolute(component(facing, other))) other = 2;
  const Real towards = side * component(facing, other) > Real(0) ? Real(-1) : Real(1);
  // rows kx, ky and side times k, the last measured from the face
  const auto in_face = [&](int axis, Real scale) {
    return Vec3<Real>{scale * component(row(kx), axis), scale * component(row(ky), axis),
                      side * (scale * component(facing, axis))};
  };
  const Vec3<Real> middle =
      Vec3<Real>{component(center, kx), component(center, ky), side * component(center, k) - component(size, k)} +
      in_face(other, towards * component(other_size, other));
  const Vec3<Real> u = in_face(next_axis(other), component(other_size, next_axis(other)));
  const Vec3<Real> v = in_face(previous_axis(other), component(other_size, previous_axis(other)));
  FacePolygon<Real> polygon, spare;
  polygon.add(middle + u + v);
  polygon.add(middle - u + v);
  polygon.add(middle - u - v);
  polygon.add(middle + u - v);
  const Real width = component(size, kx), height = component(size, ky);
  polygon.clip(0, Real(1), width, spare);
  polygon.clip(0, Real(-1), width, spare);
  polygon.clip(1, Real(1), height, spare);
  polygon.clip(1, Real(-1), height, spare);

  const Real same = BoxTolerance<Real>::same * (width * width + height * height);
  int kept = 0;
  for (int c = 0; c < polygon.count; ++c) {
    const Vec3<Real> p = polygon.at[c];
    bool fresh = !(p.z > margin);
    for (int q = 0; q < kept && fresh; ++q) {
      const Real dx = polygon.at[q].x - p.x, dy = polygon.at[q].y - p.y;
      fresh = !(dx * dx + dy * dy < same);
    }
    if (!fresh) continue;
    polygon.at[kept++] = p;  // kept <= c: those before are done with
    Vec3<Real> pos{Real(0), Real(0), Real(0)};
    set_component(pos, kx, p.x);
    set_component(pos, ky, p.y);
    set_component(pos, k, side * (component(size, k) + Real(0.5) * p.z));
    found(pos, p.z);
  }
}

}  // namespace hotloop
