// The staged form of ModelBatch::step: one launch for each part of a step, from the same source. Between launches the
// whole working set of every world lies in global memory, and no two arrays share space, so that after any part any
// array of any world can be read. It is the reference of the form that does a step in one kernel, and its debugger.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/mujoco/model_batch.h"

namespace hotloop {

class StagedStep {
 public:
  // Steps the worlds of `batch`, which must outlive it. On a GPU the kernel is compiled for the model at run time.
  explicit StagedStep(ModelBatch& batch);

  // Evaluations of the forces in one step: 4 for Runge-Kutta.
  int stages() const;
  // One part of evaluation `stage`, ordered on exec. The parts are kKinematics to kIntegrate, in this order. The first
  // of a step reads the batch's state and the last writes it back.
  void run(const Exec& exec, StepPart part, int stage);
  // All parts of one step.
  void step(const Exec& exec);

  // An array of one world as the last part left it, by its name in HOTLOOP_WORLD_REALS or HOTLOOP_WORLD_INTS. Waits for
  // exec. Error where there is no such array.
  std::vector<double> read(const Exec& exec, std::int64_t world, const std::string& name) const;

 private:
  ModelBatch& batch_;
  WorldLayout layout_;
  Buffer<float> worlds_;  // [num_worlds][layout_.reals]
  std::shared_ptr<const SpecialKernel> kernel_;
  KernelShape shape_{};
};

// "kinematics": what the part computes, for messages and benchmarks.
const char* part_name(StepPart part);

}  // namespace hotloop
