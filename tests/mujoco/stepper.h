// One world stepped by our stages on the CPU, for tests: the template bound on nv is chosen here, once.
#pragma once
#include <memory>
#include <vector>

#include "sim/mujoco/load.h"
#include "sim/mujoco/world.h"

namespace hotloop {

template <class Real>
class Stepper {
 public:
  explicit Stepper(const ModelData& data);
  // Options may be changed between steps; sizes may not.
  Model<Real>& model() { return model_; }
  // Row of the model's fields that the world takes.
  void set_index(int index) { index_ = index; }
  World<Real> world() { return {reals_.data(), layout_, index_}; }
  void forward();
  void step();

  // Rounded to Real; counts[kStatus] is cleared.
  void set_state(const double* qpos, const double* qvel, const double* warmstart, const double* ctrl);
  // As MuJoCo's efc rows: four edges a frictional contact.
  int constraint_rows();

 private:
  ModelMemory<Real> memory_;
  Model<Real> model_;
  WorldLayout layout_;
  int index_ = 0;
  std::vector<Real> reals_;
};

// The same model with every real number off by a random error, at most `relative`, and so the diagonal of M.
ModelData perturbed_model(const LoadedModel& model, unsigned seed, double relative);

}  // namespace hotloop
