// What the kernel of ModelBatch::step does: the same for the CPU, the generic kernel and the specialised one.
#pragma once
#include "sim/mujoco/step.h"
#include "sim/mujoco/tap.h"

namespace hotloop {

inline constexpr int kModelCounters = 5;  // contacts, rows, iterations, evaluations, status

// Passed by value into the kernel.
struct ModelStepArgs {
  Model<float> model;
  WorldLayout layout;
  float *qpos, *qvel, *qacc_warmstart, *qacc;
  const float* ctrl;
  int* counters;  // [worlds][kModelCounters]
  int steps;
  ContactTap tap = {};

  template <int N, class G, class M, class Layout>
  SIM_HD void run(const G& g, long long world, void* memory, const M& m, const Layout& at) const;
};

// Registers: 64 K a multiprocessor. With rows of up to 32 elements in registers 20 blocks leave 96 each.
constexpr int min_blocks(int bound) { return bound <= 16 ? 16 : bound <= 32 ? 20 : 8; }

// The steps of one world. m, at: the model and the layout, from the arguments or specialised to constants.
template <int N, class G, class M, class Layout>
SIM_HD void step_world(const G& g, const M& m, const Layout& at, const ModelStepArgs& a, int world, void* memory) {
  const World<float, Layout> w{static_cast<float*>(memory), at, world};
  const auto row = [&](auto* array, int length) { return array + static_cast<long long>(world) * length; };
  float* qpos = row(a.qpos, m.nq);
  float* qvel = row(a.qvel, m.nv);
  float* warm = row(a.qacc_warmstart, m.nv);
  const float* ctrl = row(a.ctrl, m.nu);
  g.for_each(m.nq, [&](int i) { w.qpos()[i] = qpos[i]; });
  g.for_each(m.nv, [&](int i) {
    w.qvel()[i] = qvel[i];
    w.qacc_warmstart()[i] = warm[i];
  });
  g.for_each(m.nu, [&](int i) { w.ctrl()[i] = ctrl[i]; });
  g.once([&] { w.counts()[kStatus] = 0; });
  int contacts = 0, rows = 0, iterations = 0;
  const int stages = stages_of(m), evaluations = a.steps * stages;
#pragma unroll 1
  for (int k = 0; k < evaluations; ++k) {
    g.meet();
    const bool last = k == evaluations - 1;
    forward<N>(g, m, w, last && tapped(at, a.tap));
    contacts += w.counts()[kContacts];
    iterations += w.counts()[kIterations];
    rows += w.counts()[kScalars];
    if (last) g.for_each(m.nv, [&](int i) { row(a.qacc, m.nv)[i] = w.qacc()[i]; });
    integrate<N>(g, m, w, k % stages);
  }
  if (tapped(at, a.tap)) write_tap(g, m, w, a.tap, world);
  g.for_each(m.nq, [&](int i) { qpos[i] = w.qpos()[i]; });
  g.for_each(m.nv, [&](int i) {
    qvel[i] = w.qvel()[i];
    warm[i] = w.qacc_warmstart()[i];
  });
  g.once([&] {
    int* c = row(a.counters, kModelCounters);
    c[0] += contacts;
    c[1] += rows;
    c[2] += iterations;
    c[3] += evaluations;
    c[4] |= w.counts()[kStatus];
  });
}

template <int N, class G, class M, class Layout>
SIM_HD void ModelStepArgs::run(const G& g, long long world, void* memory, const M& m, const Layout& at) const {
  step_world<N>(g, m, at, *this, static_cast<int>(world), memory);
}

}  // namespace hotloop
