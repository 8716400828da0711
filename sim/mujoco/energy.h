// Mechanical energy of a world, for display.
#pragma once
#include <vector>

#include "sim/mujoco/load.h"

struct mjData_;
typedef struct mjData_ mjData;

namespace hotloop {

class EnergyMeter {
 public:
  // The model must outlive it.
  explicit EnergyMeter(const LoadedModel& model);

  // Kinetic and potential [J], computed by MuJoCo from the model as it was loaded: fields that differ from world to
  // world do not count.
  double of(const std::vector<float>& qpos, const std::vector<float>& qvel) const;

 private:
  struct Deleter {
    void operator()(mjData* data) const;
  };
  const mjModel* model_;
  std::unique_ptr<mjData, Deleter> data_;
};

}  // namespace hotloop
