// Eight numbers at a time, one of each of eight worlds: on the CPU the Real of those stages that do the same in every
// world. Each lane does what the scalar would do, operation by operation, so that a world gets the same bits alone, in
// a pack, and on every instruction set.
#pragma once
#include <type_traits>

#include "sim/core/math.h"
#include "sim/mujoco/spatial.h"

// vectors of 32 bytes pass between functions only where these are inlined: no calling convention matters
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hotloop {

inline constexpr int kPackWorlds = 8;

// What a comparison of packs gives, one truth value a lane.
template <class T>
struct Mask {
  using Word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Word Vector __attribute__((vector_size(kPackWorlds * sizeof(T))));
  Vector v;  // 0 or -1
};
// Where stages branch on a number of the model: do all worlds agree that it is so?
template <class T>
SIM_HD bool all(const Mask<T>& mask) {
  bool result = true;
  for (int k = 0; k < kPackWorlds; ++k) result = result && mask.v[k] != 0;
  return result;
}

template <class T>
struct Pack {
  typedef T Vector __attribute__((vector_size(kPackWorlds * sizeof(T))));
  Vector v;

  Pack() = default;
  SIM_HD explicit Pack(const Vector& vector) : v(vector) {}
  template <class A>
  requires std::is_arithmetic_v<A> SIM_HD Pack(A number) {
    const T x = static_cast<T>(number);
    v = Vector{x, x, x, x, x, x, x, x};
  }

  SIM_HD friend Pack operator+(const Pack& a, const Pack& b) { return Pack(a.v + b.v); }
  SIM_HD friend Pack operator-(const Pack& a, const Pack& b) { return Pack(a.v - b.v); }
  SIM_HD friend Pack operator*(const Pack& a, const Pack& b) { return Pack(a.v * b.v); }
  SIM_HD friend Pack operator/(const Pack& a, const Pack& b) { return Pack(a.v / b.v); }
  SIM_HD friend Pack operator-(const Pack& a) { return Pack(-a.v); }
  SIM_HD Pack& operator+=(const Pack& b) { return *this = *this + b; }
  SIM_HD Pack& operator-=(const Pack& b) { return *this = *this - b; }
  SIM_HD friend Mask<T> operator<(const Pack& a, const Pack& b) { return {a.v < b.v}; }
  SIM_HD friend Mask<T> operator>(const Pack& a, const Pack& b) { return {a.v > b.v}; }
  SIM_HD friend Mask<T> operator==(const Pack& a, const Pack& b) { return {a.v == b.v}; }
};

template <class T>
SIM_HD Pack<T> select(const Mask<T>& mask, const Pack<T>& yes, const Pack<T>& no) {
  return Pack<T>(mask.v ? yes.v : no.v);
}

// ---- the functions of math.h and spatial.h that branch or call a library -------------------------------------------

template <class T>
SIM_HD Pack<T> absolute(const Pack<T>& x) {
  return select(x < Pack<T>(0), -x, x);
}
template <class T>
SIM_HD Pack<T> maximum(const Pack<T>& a, const Pack<T>& b) {
  return select(a > b, a, b);
}
template <class T>
SIM_HD Pack<T> clamp(const Pack<T>& x, const Pack<T>& low, const Pack<T>& high) {
  return select(x < low, low, select(x > high, high, x));
}
template <class T>
SIM_HD Pack<T> square_root(const Pack<T>& x) {
  Pack<T> root;
  for (int k = 0; k < kPackWorlds; ++k) root.v[k] = square_root(x.v[k]);
  return root;
}
// The loops go through memory: the compiler makes vectors of them.
template <class T>
SIM_HD void sin_cos(const Pack<T>& x, Pack<T>& sin_x, Pack<T>& cos_x) {
  alignas(64) T angle[kPackWorlds], s[kPackWorlds], c[kPackWorlds];
  __builtin_memcpy(angle, &x.v, sizeof angle);
  for (int k = 0; k < kPackWorlds; ++k) sin_cos(angle[k], s[k], c[k]);
  __builtin_memcpy(&sin_x.v, s, sizeof s);
  __builtin_memcpy(&cos_x.v, c, sizeof c);
}
template <class T>
SIM_HD Vec3<Pack<T>> normalized(const Vec3<Pack<T>>& a, Pack<T>& len) {
  len = length(a);
  const auto none = len < kTiny<Pack<T>>();
  const Pack<T> s = Pack<T>(1) / len;
  return {select(none, Pack<T>(1), s * a.x), select(none, Pack<T>(0), s * a.y), select(none, Pack<T>(0), s * a.z)};
}
template <class T>
SIM_HD Quat<Pack<T>> normalized(const Quat<Pack<T>>& q) {
  const Pack<T> len = square_root(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  const auto none = len < kTiny<Pack<T>>();
  const Pack<T> s = Pack<T>(1) / len, zero(0);
  return {select(none, Pack<T>(1), s * q.w), select(none, zero, s * q.x), select(none, zero, s * q.y),
          select(none, zero, s * q.z)};
}
// One world's vector.
template <class T>
SIM_HD Vec3<T> lane(const Vec3<Pack<T>>& a, int k) {
  return {a.x.v[k], a.y.v[k], a.z.v[k]};
}
template <class T>
SIM_HD void set_lane(Vec3<Pack<T>>& a, int k, const Vec3<T>& value) {
  a.x.v[k] = value.x;
  a.y.v[k] = value.y;
  a.z.v[k] = value.z;
}
template <class T>
SIM_HD Vec3<Pack<T>> rotation_vector(const Quat<Pack<T>>& q) {
  Vec3<Pack<T>> result;
  for (int k = 0; k < kPackWorlds; ++k)
    set_lane(result, k, rotation_vector(Quat<T>{q.w.v[k], q.x.v[k], q.y.v[k], q.z.v[k]}));
  return result;
}

}  // namespace hotloop
