// Many worlds of one model, stepped without a task: what benchmarks, the viewer and the tests of the device code use.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/frame.h"
#include "sim/core/special_kernel.h"
#include "sim/mujoco/contact_memory.h"
#include "sim/mujoco/load.h"
#include "sim/mujoco/world.h"
#include "sim/mujoco/world_fields.h"

namespace hotloop {

// Sums over the evaluations of all worlds since the last reset.
struct PhysicsStats {
  double contacts = 0, rows = 0, iterations = 0;  // rows: MuJoCo's nefc (4 a pyramidal contact)
  std::int64_t evaluations = 0;
  std::int64_t overflows = 0;  // worlds that ran out of room for contacts or rows
  std::int64_t nonfinite = 0;  // worlds whose state is no longer finite
};

class ModelBatch {
 public:
  // specialised: on a GPU, a kernel compiled for the model at run time instead of the generic one. per_world: fields in
  // which worlds may differ, and kExternalForces (world_fields.h). contact_tap: contacts() has something to say.
  ModelBatch(std::shared_ptr<const LoadedModel> model, std::int64_t num_worlds, Device device, bool specialised = true,
             const std::vector<std::string>& per_world = {}, bool contact_tap = false);

  const LoadedModel& model() const { return *model_; }
  std::int64_t num_worlds() const { return num_worlds_; }
  Device device() const { return device_; }
  Model<float> device_model() const { return fields_.view(); }
  // Bytes of working memory (shared memory on the GPU) and of state in global memory that a world takes.
  std::size_t working_bytes() const;
  WorldFields& fields() { return fields_; }
  std::size_t state_bytes() const;

  // Device arrays, world-major: [num_worlds][nq], [nv], [nv], [nu], [nv]. qacc: of the last evaluation.
  float* qpos() const { return state_.data(); }
  float* qvel() const { return qpos() + num_worlds_ * data().nq; }
  float* qacc_warmstart() const { return qvel() + num_worlds_ * data().nv; }
  float* ctrl() const { return qacc_warmstart() + num_worlds_ * data().nv; }
  float* qacc() const { return ctrl() + num_worlds_ * data().nu; }
  // [num_worlds][nbody][6] where worlds take forces from outside, else null.
  float* xfrc_applied() const { return fields_.xfrc_applied(); }

  // Every world to keyframe 0, or to qpos0 at rest where the model has none.
  void reset(const Exec& exec);
  // Fresh controls: an Ornstein-Uhlenbeck process (deviation std, rate [s]) as MuJoCo Warp's testspeed draws it.
  void noise(const Exec& exec, float std, float rate, std::uint64_t step);
  // Uniform random controls within their ranges ([-1, 1] where there is none).
  void random_controls(const Exec& exec, std::uint64_t step);
  // `steps` steps of every world in one launch; capturable.
  void step(const Exec& exec, int steps);
  // Frames, one a body, of worlds [first, first + count) where their qpos says: out [count][nbody] on device().
  int num_frames() const { return data().nbody; }
  void write_frames(const Exec& exec, std::int64_t first, std::int64_t count, Frame* out) const;
  // The contacts of a world in its latest step; waits for exec.
  std::vector<ContactRecord> contacts(const Exec& exec, std::int64_t world) const {
    return contacts_.read(exec, world);
  }
  const SpecialKernel* special_kernel() const { return kernel_.get(); }
  // What happened since the last reset; waits for exec.
  PhysicsStats stats(const Exec& exec);

 private:
  const ModelData& data() const { return model_->data(); }
  std::shared_ptr<const LoadedModel> model_;
  std::int64_t num_worlds_;
  Device device_;
  ModelMemory<float> memory_;
  WorldFields fields_;
  WorldLayout layout_;
  std::shared_ptr<const SpecialKernel> kernel_;  // null: the generic one
  KernelShape shape_{};
  ContactMemory contacts_;
  Buffer<float> state_;
  Buffer<std::int32_t> counters_;  // [num_worlds][5]: contacts, rows, iterations, evaluations, status
};

}  // namespace hotloop
