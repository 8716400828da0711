// What cpu_step.h leaves to one source file for each bound on the number of dofs.
#pragma once
#include "sim/mujoco/cpu_step.h"
#include "sim/mujoco/step.h"

namespace hotloop {

// Free and ball joints only: not worth a vector form.
template <class T>
Vec3<Pack<T>> transported(const Vec3<Pack<T>>& turn, const Vec3<Pack<T>>& w) {
  Vec3<Pack<T>> result;
  for (int k = 0; k < kPackWorlds; ++k) set_lane(result, k, transported(lane(turn, k), lane(w, k)));
  return result;
}

template <int N>
void CpuStep<N>::solve(const Model<float>& m, const World<float>& w, bool forces) {
  const SerialGroup<1> g;
  constraints(g, m, w);
  if (m.pgs)
    pgs<N>(g, m, w);
  else
    newton<N>(g, m, w, forces);
}

template <int N>
void CpuStep<N>::forward(const Model<float>& m, const World<float>& w, bool forces) {
  cpu_kinematics(m, w);
  cpu_collision(m, w);
  cpu_smooth(m, w);
  solve(m, w, forces);
}

template <int N>
void CpuStep<N>::integrate(const Model<float>& m, const World<float>& w, int stage) {
  hotloop::integrate<N>(SerialGroup<1>{}, m, w, stage);
}

template <int N>
bool CpuStep<N>::advance(const PackModel<float>& m, const PackWorld& w, int stage) {
  return hotloop::advance<N>(SerialGroup<1>{}, m, w, stage);
}

}  // namespace hotloop
