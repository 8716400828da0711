// Physics in single precision on the CPU, compiled once for all tasks: of one world, and of eight worlds together. Of
// eight, what is regular (kinematics, velocities, smooth forces, mass matrix, integration) is computed at once, one
// world a vector lane; what differs from world to world (contacts, constraints, solver) in each alone. Both give a
// world the same bits.
#pragma once
#include <vector>

#include "sim/core/group.h"
#include "sim/mujoco/pack_model.h"
#include "sim/mujoco/world.h"

namespace hotloop {

using PackWorld = World<Pack<float>>;

// N: bound on nv; one source file each.
template <int N>
struct CpuStep {
  static void forward(const Model<float>& m, const World<float>& w, bool forces);
  static void integrate(const Model<float>& m, const World<float>& w, int stage);
  // The last parts of forward: constraints and their solver.
  static void solve(const Model<float>& m, const World<float>& w, bool forces);
  // The first part of integrate; whether the step ends.
  static bool advance(const PackModel<float>& m, const PackWorld& w, int stage);
};

// With this group `forward` and `integrate` of step.h are calls of these.
struct CpuGroup : SerialGroup<1> {};
template <int N>
void forward(const CpuGroup&, const Model<float>& m, const World<float>& w, bool forces) {
  CpuStep<N>::forward(m, w, forces);
}
template <int N>
void integrate(const CpuGroup&, const Model<float>& m, const World<float>& w, int stage) {
  CpuStep<N>::integrate(m, w, stage);
}

// The parts of forward before CpuStep::solve.
void cpu_kinematics(const Model<float>& m, const World<float>& w);
void cpu_kinematics(const PackModel<float>& m, const PackWorld& w);
void cpu_collision(const Model<float>& m, const World<float>& w);
void cpu_smooth(const Model<float>& m, const World<float>& w);
void cpu_smooth(const PackModel<float>& m, const PackWorld& w);
// The last part of integrate.
void cpu_check(const Model<float>& m, const World<float>& w);

// An array that moves between the working set of a pack and those of its worlds; in elements, all multiples of 4.
struct PackCopy {
  int pack, world, length;
};

// Steps worlds in packs. Made once for a model; shared by threads.
class PackStepper {
 public:
  // layout: of a world alone; keep: the Keep bits it was made with. extra_bytes: behind each world's working set, for
  // the caller.
  PackStepper(const Model<float>& model, const WorldLayout& layout, unsigned keep, std::size_t extra_bytes);

  // Of the memory that step works in.
  std::size_t bytes() const { return pack_bytes_ + kPackWorlds * world_bytes_; }
  // The working set of world k of the pack.
  void* world_memory(void* memory, int k) const { return static_cast<char*>(memory) + pack_bytes_ + k * world_bytes_; }
  // `steps` steps of the worlds first_world ... first_world + 7 from the qpos, qvel, qacc_warmstart and ctrl in their
  // working sets. forces: as for physics_step, of the last step.
  template <int N>
  void step(void* memory, int first_world, int steps, bool forces) const;

 private:
  Model<float> model_;
  PackModel<float> packed_;
  WorldLayout layout_, pack_layout_;
  std::size_t pack_bytes_, world_bytes_;
  std::vector<PackCopy> state_, ctrl_;
  std::vector<PackCopy> poses_;     // to the worlds: for their collisions
  std::vector<PackCopy> dynamics_;  // for their constraints and solver
  std::vector<PackCopy> solution_;  // back to the pack
  std::vector<PackCopy> kept_;      // to the worlds: for who reads them after the last step
};

}  // namespace hotloop
