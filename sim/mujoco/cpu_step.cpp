#include "sim/mujoco/cpu_step.h"

#include "sim/mujoco/step.h"

namespace hotloop {
namespace {

using Quarter = float __attribute__((vector_size(16)));
using Vector = Pack<float>::Vector;
using Worlds = float* [kPackWorlds];  // their working sets

// Four vectors, of eight worlds each <-> four vectors, of four numbers each of worlds k and k + 4. The same moves in
// both directions.
void transpose(Vector (&rows)[4]) {
  const Vector a = __builtin_shufflevector(rows[0], rows[1], 0, 8, 1, 9, 4, 12, 5, 13);
  const Vector b = __builtin_shufflevector(rows[0], rows[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const Vector c = __builtin_shufflevector(rows[2], rows[3], 0, 8, 1, 9, 4, 12, 5, 13);
  const Vector d = __builtin_shufflevector(rows[2], rows[3], 2, 10, 3, 11, 6, 14, 7, 15);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

Quarter load_quarter(const float* from) {
  Quarter q;
  __builtin_memcpy(&q, from, sizeof q);
  return q;
}

void gather(const std::vector<PackCopy>& copies, const PackWorld& pack, const Worlds& worlds) {
  for (const PackCopy& copy : copies)
    for (int i = 0; i < copy.length; i += 4) {
      Vector rows[4];
      for (int k = 0; k < 4; ++k)
        rows[k] = __builtin_shufflevector(load_quarter(worlds[k] + copy.world + i),
                                          load_quarter(worlds[k + 4] + copy.world + i), 0, 1, 2, 3, 4, 5, 6, 7);
      transpose(rows);
      for (int k = 0; k < 4; ++k) pack.reals[copy.pack + i + k] = Pack<float>(rows[k]);
    }
}

void scatter(const std::vector<PackCopy>& copies, const PackWorld& pack, const Worlds& worlds) {
  for (const PackCopy& copy : copies)
    for (int i = 0; i < copy.length; i += 4) {
      Vector rows[4];
      for (int k = 0; k < 4; ++k) rows[k] = pack.reals[copy.pack + i + k].v;
      transpose(rows);
      for (int k = 0; k < 4; ++k) {
        __builtin_memcpy(worlds[k] + copy.world + i, &rows[k], sizeof(Quarter));
        __builtin_memcpy(worlds[k + 4] + copy.world + i, reinterpret_cast<const float*>(&rows[k]) + 4, sizeof(Quarter));
      }
    }
}

}  // namespace

void cpu_kinematics(const Model<float>& m, const World<float>& w) { kinematics(SerialGroup<1>{}, m, w); }
void cpu_kinematics(const PackModel<float>& m, const PackWorld& w) { kinematics(SerialGroup<1>{}, m, w); }
void cpu_collision(const Model<float>& m, const World<float>& w) { collision(SerialGroup<1>{}, m, w); }
void cpu_smooth(const Model<float>& m, const World<float>& w) {
  smooth_forces(SerialGroup<1>{}, m, w);
  mass_matrix(SerialGroup<1>{}, m, w);
}
void cpu_smooth(const PackModel<float>& m, const PackWorld& w) {
  smooth_forces(SerialGroup<1>{}, m, w);
  mass_matrix(SerialGroup<1>{}, m, w);
}
void cpu_check(const Model<float>& m, const World<float>& w) { check_state(SerialGroup<1>{}, m, w); }

PackStepper::PackStepper(const Model<float>& model, const WorldLayout& layout, unsigned keep, std::size_t extra_bytes)
    : model_(model),
      packed_(model),
      layout_(layout),
      pack_layout_(make_layout(model, keep | kKeepPose | kKeepGeoms)),
      pack_bytes_(hotloop::world_bytes<Pack<float>>(pack_layout_)),
      world_bytes_((hotloop::world_bytes<float>(layout) + extra_bytes + 63) / 64 * 64) {
  const auto copy = [](int pack, int world, int elements) { return PackCopy{pack, world, (elements + 3) / 4 * 4}; };
  const auto add = [&](const PackCopy& array, int from, int to, unsigned bits) {
    const bool regular = from == kKinematics || from == kVelocity || from == kInertia;
    if (array.length == 0 || !regular || to == kFinish) return;
    if (to == kCollision) poses_.push_back(array);
    if (to > kInertia)
      dynamics_.push_back(array);
    else if ((bits & keep) != 0)
      kept_.push_back(array);
  };
  const ModelSizes& s = model;
  const WorldLayout &p = pack_layout_, &w = layout_;
#define HOTLOOP_ADD(name, elements, from, to, bits) add(copy(p.name, w.name, elements), from, to, bits);
  HOTLOOP_WORLD_REALS(HOTLOOP_ADD)
#undef HOTLOOP_ADD
  state_ = {copy(p.qpos, w.qpos, s.nq), copy(p.qvel, w.qvel, s.nv), copy(p.qacc_warmstart, w.qacc_warmstart, s.nv)};
  ctrl_ = {copy(p.ctrl, w.ctrl, s.nu)};
  solution_ = {copy(p.qacc, w.qacc, s.nv),
               s.pgs ? copy(p.qfrc_constraint, w.qfrc_constraint, s.nv) : copy(p.Ma, w.Ma, s.nv)};
}

template <int N>
void PackStepper::step(void* memory, int first_world, int steps, bool forces) const {
  const PackWorld pack{static_cast<Pack<float>*>(memory), pack_layout_, first_world};
  Worlds worlds;
  for (int k = 0; k < kPackWorlds; ++k) worlds[k] = static_cast<float*>(world_memory(memory, k));
  const auto each = [&](auto f) {
    for (int k = 0; k < kPackWorlds; ++k) f(World<float>{worlds[k], layout_, first_world + k});
  };
  gather(state_, pack, worlds);
  gather(ctrl_, pack, worlds);
  const int stages = model_.rk4 ? 4 : 1, evaluations = steps * stages;
  for (int e = 0; e < evaluations; ++e) {
    const bool last = e == evaluations - 1;
    cpu_kinematics(packed_, pack);
    cpu_smooth(packed_, pack);
    scatter(poses_, pack, worlds);
    each([&](const World<float>& w) { cpu_collision(model_, w); });
    scatter(dynamics_, pack, worlds);
    if (last) scatter(kept_, pack, worlds);
    each([&](const World<float>& w) { CpuStep<N>::solve(model_, w, forces && last); });
    gather(solution_, pack, worlds);
    const bool ends = CpuStep<N>::advance(packed_, pack, e % stages);
    scatter(state_, pack, worlds);
    if (ends) each([&](const World<float>& w) { cpu_check(model_, w); });
  }
}

template void PackStepper::step<16>(void*, int, int, bool) const;
template void PackStepper::step<32>(void*, int, int, bool) const;
template void PackStepper::step<kMaxDofs>(void*, int, int, bool) const;

}  // namespace hotloop
