// Vectors, quaternions and spatial algebra by value. Spatial vectors are (rotation, translation); spatial quantities
// are expressed about the centre of mass of their kinematic tree, as in MuJoCo. Quaternions are (w, x, y, z).
#pragma once
#include "sim/core/hd.h"
#include "sim/core/math.h"

namespace hotloop {

template <class Real>
struct Vec2 {
  Real x, y;
};
template <class Real>
struct Vec3 {
  Real x, y, z;
};
template <class Real>
struct Quat {
  Real w, x, y, z;
};
template <class Real>
struct Vec6 {
  Vec3<Real> rot, lin;
};
template <class Real>
struct Mat3 {
  Vec3<Real> row0, row1, row2;
};
// Rigid motion: first rotation, then translation.
template <class Real>
struct Pose {
  Vec3<Real> pos;
  Quat<Real> quat;
};

// ---- load and store ------------------------------------------------------------------------------------------------

template <class Real>
SIM_HD Vec3<Real> load3(const Real* p) {
  return {p[0], p[1], p[2]};
}
template <class Real>
SIM_HD void store3(Real* p, const Vec3<Real>& v) {
  p[0] = v.x;
  p[1] = v.y;
  p[2] = v.z;
}
template <class Real>
SIM_HD Quat<Real> load4(const Real* p) {
  return {p[0], p[1], p[2], p[3]};
}
template <class Real>
SIM_HD void store4(Real* p, const Quat<Real>& q) {
  p[0] = q.w;
  p[1] = q.x;
  p[2] = q.y;
  p[3] = q.z;
}
template <class Real>
SIM_HD Vec6<Real> load6(const Real* p) {
  return {load3(p), load3(p + 3)};
}
template <class Real>
SIM_HD void store6(Real* p, const Vec6<Real>& v) {
  store3(p, v.rot);
  store3(p + 3, v.lin);
}

// ---- vectors -------------------------------------------------------------------------------------------------------

template <class Real>
SIM_HD Vec2<Real> operator+(const Vec2<Real>& a, const Vec2<Real>& b) {
  return {a.x + b.x, a.y + b.y};
}
template <class Real>
SIM_HD Vec3<Real> operator+(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class Real>
SIM_HD Vec3<Real> operator-(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class Real>
SIM_HD Vec3<Real> operator-(const Vec3<Real>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class Real>
SIM_HD Vec3<Real> operator*(Real s, const Vec3<Real>& a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class Real>
SIM_HD Real dot(const Vec3<Real>& a, const Vec3<Real>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class Real>
SIM_HD Vec3<Real> cross(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SIM_HD float square_root(float x) { return sqrtf(x); }
SIM_HD double square_root(double x) { return sqrt(x); }
template <class Real>
SIM_HD Real length(const Vec3<Real>& a) {
  return square_root(dot(a, a));
}
template <class Real>
SIM_HD Real absolute(Real x) {
  return x < Real(0) ? -x : x;
}
template <class Real>
SIM_HD Real maximum(Real a, Real b) {
  return a > b ? a : b;
}
template <class Real>
SIM_HD Real minimum(Real a, Real b) {
  return a < b ? a : b;
}
// A condition on numbers of the model; of packs of worlds (pack.h) it must hold for all.
SIM_HD constexpr bool all(bool condition) { return condition; }
// MuJoCo's mjMINVAL: what is shorter counts as zero.
template <class Real>
SIM_HD constexpr Real kTiny() {
  return Real(1e-15);
}
// a / |a|; (1, 0, 0) where a is zero. len receives |a|.
template <class Real>
SIM_HD Vec3<Real> normalized(const Vec3<Real>& a, Real& len) {
  len = length(a);
  if (len < kTiny<Real>()) return {Real(1), Real(0), Real(0)};
  return (Real(1) / len) * a;
}

#ifdef __CUDACC__
template <class Real>
__device__ __forceinline__ Vec2<Real> shuffle_xor(unsigned mask, const Vec2<Real>& v, int lanes) {
  return {__shfl_xor_sync(mask, v.x, lanes), __shfl_xor_sync(mask, v.y, lanes)};
}
template <class Real>
__device__ __forceinline__ Vec3<Real> shuffle_xor(unsigned mask, const Vec3<Real>& v, int lanes) {
  return {__shfl_xor_sync(mask, v.x, lanes), __shfl_xor_sync(mask, v.y, lanes), __shfl_xor_sync(mask, v.z, lanes)};
}
#endif

// ---- rotations -----------------------------------------------------------------------------------------------------

template <class Real>
SIM_HD Quat<Real> operator*(const Quat<Real>& a, const Quat<Real>& b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
template <class Real>
SIM_HD Quat<Real> conjugate(const Quat<Real>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}
template <class Real>
SIM_HD Quat<Real> normalized(const Quat<Real>& q) {
  const Real len = square_root(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  if (len < kTiny<Real>()) return {Real(1), Real(0), Real(0), Real(0)};
  const Real s = Real(1) / len;
  return {s * q.w, s * q.x, s * q.y, s * q.z};
}
// q v q*: v + 2 w (u x v) + 2 u x (u x v), u the vector part.
template <class Real>
SIM_HD Vec3<Real> rotate(const Quat<Real>& q, const Vec3<Real>& v) {
  const Vec3<Real> u{q.x, q.y, q.z};
  const Vec3<Real> t = Real(2) * cross(u, v);
  return v + q.w * t + cross(u, t);
}
template <class Real>
SIM_HD Mat3<Real> matrix(const Quat<Real>& q) {
  const Real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, ww = q.w * q.w;
  const Real xy = Real(2) * q.x * q.y, xz = Real(2) * q.x * q.z, yz = Real(2) * q.y * q.z;
  const Real wx = Real(2) * q.w * q.x, wy = Real(2) * q.w * q.y, wz = Real(2) * q.w * q.z;
  return {{ww + xx - yy - zz, xy - wz, xz + wy},
          {xy + wz, ww - xx + yy - zz, yz - wx},
          {xz - wy, yz + wx, ww - xx - yy + zz}};
}
template <class Real>
SIM_HD Vec3<Real> operator*(const Mat3<Real>& m, const Vec3<Real>& v) {
  return {dot(m.row0, v), dot(m.row1, v), dot(m.row2, v)};
}
template <class Real>
SIM_HD Vec3<Real> transposed_times(const Mat3<Real>& m, const Vec3<Real>& v) {
  return v.x * m.row0 + v.y * m.row1 + v.z * m.row2;
}
template <class Real>
SIM_HD Vec3<Real> column(const Mat3<Real>& m, int k) {
  if (k == 0) return {m.row0.x, m.row1.x, m.row2.x};
  if (k == 1) return {m.row0.y, m.row1.y, m.row2.y};
  return {m.row0.z, m.row1.z, m.row2.z};
}
template <class Real>
SIM_HD Quat<Real> axis_angle(const Vec3<Real>& axis, Real angle) {
  Real s, c;
  sin_cos(Real(0.5) * angle, s, c);
  return {c, s * axis.x, s * axis.y, s * axis.z};
}
// q turned by the rotation vector v (local frame), normalised: the exponential map.
template <class Real>
SIM_HD Quat<Real> integrate(const Quat<Real>& q, const Vec3<Real>& v) {
  Real angle;
  const Vec3<Real> axis = normalized(v, angle);
  return normalized(q * axis_angle(axis, angle));
}
SIM_HD float arc_tangent2(float y, float x) { return atan2f(y, x); }
SIM_HD double arc_tangent2(double y, double x) { return atan2(y, x); }
// The rotation vector of q, angle in (-pi, pi].
template <class Real>
SIM_HD Vec3<Real> rotation_vector(const Quat<Real>& q) {
  Real sine;
  const Vec3<Real> axis = normalized(Vec3<Real>{q.x, q.y, q.z}, sine);
  Real angle = Real(2) * arc_tangent2(sine, q.w);
  if (angle > Real(kPi)) angle -= Real(2 * kPi);
  return angle * axis;
}
template <class Real>
SIM_HD Pose<Real> operator*(const Pose<Real>& a, const Pose<Real>& b) {
  return {a.pos + rotate(a.quat, b.pos), a.quat * b.quat};
}

// ---- spatial vectors -----------------------------------------------------------------------------------------------

template <class Real>
SIM_HD Vec6<Real> operator+(const Vec6<Real>& a, const Vec6<Real>& b) {
  return {a.rot + b.rot, a.lin + b.lin};
}
template <class Real>
SIM_HD Vec6<Real> operator*(Real s, const Vec6<Real>& a) {
  return {s * a.rot, s * a.lin};
}
template <class Real>
SIM_HD Real dot(const Vec6<Real>& a, const Vec6<Real>& b) {
  return dot(a.rot, b.rot) + dot(a.lin, b.lin);
}
// Motion cross product: rate of change of the motion vector s that moves with velocity v.
template <class Real>
SIM_HD Vec6<Real> cross_motion(const Vec6<Real>& v, const Vec6<Real>& s) {
  return {cross(v.rot, s.rot), cross(v.rot, s.lin) + cross(v.lin, s.rot)};
}
// Force cross product.
template <class Real>
SIM_HD Vec6<Real> cross_force(const Vec6<Real>& v, const Vec6<Real>& f) {
  return {cross(v.rot, f.rot) + cross(v.lin, f.lin), cross(v.rot, f.lin)};
}

// Spatial inertia about a point at offset -c from the centre of mass: MuJoCo's ten numbers
// (Ixx, Iyy, Izz, Ixy, Ixz, Iyz, m cx, m cy, m cz, m).
template <class Real>
struct Inertia10 {
  Real xx, yy, zz, xy, xz, yz;
  Vec3<Real> mc;
  Real m;
};
template <class Real>
SIM_HD Inertia10<Real> load10(const Real* p) {
  return {p[0], p[1], p[2], p[3], p[4], p[5], load3(p + 6), p[9]};
}
template <class Real>
SIM_HD void store10(Real* p, const Inertia10<Real>& i) {
  p[0] = i.xx;
  p[1] = i.yy;
  p[2] = i.zz;
  p[3] = i.xy;
  p[4] = i.xz;
  p[5] = i.yz;
  store3(p + 6, i.mc);
  p[9] = i.m;
}
// Inertia with principal moments `diag` along the axes of `q`, centre of mass at c from the reference point.
template <class Real>
SIM_HD Inertia10<Real> make_inertia(const Quat<Real>& q, const Vec3<Real>& diag, Real m, const Vec3<Real>& c) {
  const Mat3<Real> r = matrix(q);
  const auto entry = [&](const Vec3<Real>& a, const Vec3<Real>& b) {
    return diag.x * a.x * b.x + diag.y * a.y * b.y + diag.z * a.z * b.z;
  };
  const Real cc = dot(c, c);
  return {entry(r.row0, r.row0) + m * (cc - c.x * c.x),
          entry(r.row1, r.row1) + m * (cc - c.y * c.y),
          entry(r.row2, r.row2) + m * (cc - c.z * c.z),
          entry(r.row0, r.row1) - m * c.x * c.y,
          entry(r.row0, r.row2) - m * c.x * c.z,
          entry(r.row1, r.row2) - m * c.y * c.z,
          m * c,
          m};
}
// Momentum (a force vector) of the inertia moving with v.
template <class Real>
SIM_HD Vec6<Real> operator*(const Inertia10<Real>& i, const Vec6<Real>& v) {
  const Vec3<Real>& w = v.rot;
  const Vec3<Real> turn{i.xx * w.x + i.xy * w.y + i.xz * w.z, i.xy * w.x + i.yy * w.y + i.yz * w.z,
                        i.xz * w.x + i.yz * w.y + i.zz * w.z};
  return {turn + cross(i.mc, v.lin), i.m * v.lin - cross(i.mc, w)};
}

}  // namespace hotloop
