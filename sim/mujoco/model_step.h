// The kernel of ModelBatch::step, instantiated in one source file for each bound on the number of dofs.
#pragma once
#include "sim/core/launch.h"
#include "sim/mujoco/step.h"

namespace hotloop {

// Passed by value into the kernel.
struct ModelStepArgs {
  Model<float> model;
  WorldLayout layout;
  float *qpos, *qvel, *qacc_warmstart, *qacc;
  const float* ctrl;
  std::int32_t* counters;
  int steps;
};

// Registers: 64 K a multiprocessor. With rows of up to 32 elements in registers 20 blocks leave 96 each.
constexpr int min_blocks(int bound) { return bound <= 16 ? 16 : bound <= 32 ? 20 : 8; }

template <int N>
struct ModelStepOp {
  static constexpr int kMinBlocks = min_blocks(N);
  ModelStepArgs a;

  template <class G>
  SIM_HD void operator()(const G& g, std::int64_t world, std::byte* memory) const {
    const Model<float>& m = a.model;
    const World<float> w{reinterpret_cast<float*>(memory), reinterpret_cast<int*>(memory) + a.layout.reals, a.layout,
                         static_cast<int>(world)};
    float* qpos = a.qpos + world * m.nq;
    float* qvel = a.qvel + world * m.nv;
    float* warm = a.qacc_warmstart + world * m.nv;
    g.for_each(m.nq, [&](int i) { w.qpos()[i] = qpos[i]; });
    g.for_each(m.nv, [&](int i) {
      w.qvel()[i] = qvel[i];
      w.qacc_warmstart()[i] = warm[i];
    });
    g.for_each(m.nu, [&](int i) { w.ctrl()[i] = a.ctrl[world * m.nu + i]; });
    g.once([&] { w.counts()[kStatus] = 0; });
    int contacts = 0, rows = 0, iterations = 0;
    const int stages = stages_of(m), evaluations = a.steps * stages;
    for (int k = 0; k < evaluations; ++k) {
      forward<N>(g, m, w, false);
      contacts += w.counts()[kContacts];
      iterations += w.counts()[kIterations];
      rows += w.counts()[kScalars];
      if (k == evaluations - 1) g.for_each(m.nv, [&](int i) { a.qacc[world * m.nv + i] = w.qacc()[i]; });
      integrate<N>(g, m, w, k % stages);
    }
    g.for_each(m.nq, [&](int i) { qpos[i] = w.qpos()[i]; });
    g.for_each(m.nv, [&](int i) {
      qvel[i] = w.qvel()[i];
      warm[i] = w.qacc_warmstart()[i];
    });
    g.once([&] {
      std::int32_t* c = a.counters + 5 * world;
      c[0] += contacts;
      c[1] += rows;
      c[2] += iterations;
      c[3] += evaluations;
      c[4] |= w.counts()[kStatus];
    });
  }
};

// One source file each.
template <int N>
void launch_model_step(const Exec& exec, std::int64_t worlds, const ModelStepArgs& args);

#define HOTLOOP_INSTANTIATE_MODEL_STEP(N)                                                              \
  template <>                                                                                          \
  void launch_model_step<N>(const Exec& exec, std::int64_t worlds, const ModelStepArgs& args) {        \
    parallel_warps<lanes_for(N)>(exec, worlds, world_bytes<float>(args.layout), ModelStepOp<N>{args}); \
  }

}  // namespace hotloop
