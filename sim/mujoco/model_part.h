// What the kernel of the staged form does: one part of a step, on working sets that stay in global memory.
#pragma once
#include "sim/mujoco/step.h"
#ifndef __CUDACC_RTC__
#include "sim/core/device.h"
#endif

namespace hotloop {

// Passed by value into the kernel.
struct ModelPartArgs {
  Model<float> model;
  WorldLayout layout;
  float* worlds;  // [worlds][layout.reals]
  int part;       // StepPart, up to kIntegrate
  int stage;      // of the integrator

  // The parts are those of forward() and integrate(), in their order; the solver's leaves constraint forces too.
  template <int N, class G, class M, class Layout>
  SIM_HD void run(const G& g, long long world, void*, const M& m, const Layout& at) const {
    const World<float, Layout> w{worlds + world * at.reals, at, static_cast<int>(world)};
    if (part == kKinematics) kinematics(g, m, w);
    if (part == kCollision) collision(g, m, w);
    if (part == kVelocity) smooth_forces(g, m, w);
    if (part == kInertia) mass_matrix(g, m, w);
    if (part == kConstraint) constraints(g, m, w);
    if (part == kSolve && m.pgs) pgs<N>(g, m, w);
    if (part == kSolve && !m.pgs) newton<N>(g, m, w, true);
    if (part == kIntegrate) integrate<N>(g, m, w, stage);
  }
};

#ifndef __CUDACC_RTC__
// On the CPU; one source file each.
template <int N>
void run_model_part(const Exec& exec, std::int64_t worlds, const ModelPartArgs& args);
#endif

}  // namespace hotloop
