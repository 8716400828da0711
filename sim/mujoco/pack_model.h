// A model as stages on packs of worlds read it: the same names as Model, every number given to all worlds of the pack.
#pragma once
#include "sim/mujoco/model_data.h"
#include "sim/mujoco/pack.h"

namespace hotloop {

// An array of numbers that all worlds share.
template <class T>
struct Spread {
  const T* data = nullptr;
  SIM_HD Pack<T> operator[](int i) const { return Pack<T>(data[i]); }
  SIM_HD Spread operator+(int i) const { return {data + i}; }
  SIM_HD Spread& operator+=(int i) {
    data += i;
    return *this;
  }
};

// Rows of one array that may differ from world to world; stride: elements from one world's to the next, 0: shared.
template <class T>
struct SpreadRows {
  const T* data = nullptr;
  int stride = 0;
  SIM_HD Pack<T> operator[](int i) const {
    Pack<T> value(data[i]);
    if (stride != 0)
      for (int k = 1; k < kPackWorlds; ++k) value.v[k] = data[i + static_cast<long long>(k) * stride];
    return value;
  }
  SIM_HD SpreadRows operator+(int i) const { return {data + i, stride}; }
  SIM_HD SpreadRows of(int first_world) const { return {data + static_cast<long long>(first_world) * stride, stride}; }
};

template <class T>
SIM_HD Vec3<Pack<T>> load3(const Spread<T>& p) {
  return {p[0], p[1], p[2]};
}
template <class T>
SIM_HD Vec3<Pack<T>> load3(const SpreadRows<T>& p) {
  return {p[0], p[1], p[2]};
}
template <class T>
SIM_HD Quat<Pack<T>> load4(const Spread<T>& p) {
  return {p[0], p[1], p[2], p[3]};
}

template <class T>
struct PackModel : ModelSizes, ModelOptions<Pack<T>> {
  using Real = Pack<T>;
  Tree bodies, dofs;
#define HOTLOOP_DECLARE(name, rows, columns) const int* name;
  HOTLOOP_MODEL_INTS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
#define HOTLOOP_DECLARE(name, rows, columns) Spread<T> name;
  HOTLOOP_MODEL_REALS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
#define HOTLOOP_DECLARE(name, rows, columns) SpreadRows<T> name;
  HOTLOOP_MODEL_FIELDS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
  SpreadRows<T> xfrc_applied;

  explicit PackModel(const Model<T>& m) : ModelSizes(m), bodies(m.bodies), dofs(m.dofs) {
    convert_options(m, *this);
    xfrc_applied = {m.xfrc_applied.data, m.xfrc_applied.stride};
#define HOTLOOP_SPREAD(name, rows, columns) name = m.name;
    HOTLOOP_MODEL_INTS(HOTLOOP_SPREAD)
#undef HOTLOOP_SPREAD
#define HOTLOOP_SPREAD(name, rows, columns) name = {m.name};
    HOTLOOP_MODEL_REALS(HOTLOOP_SPREAD)
#undef HOTLOOP_SPREAD
#define HOTLOOP_SPREAD(name, rows, columns) name = {m.name.data, m.name.stride};
    HOTLOOP_MODEL_FIELDS(HOTLOOP_SPREAD)
#undef HOTLOOP_SPREAD
  }
};

}  // namespace hotloop
