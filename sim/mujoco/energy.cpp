#include "sim/mujoco/energy.h"

#include <mujoco/mujoco.h>

#include <algorithm>

namespace hotloop {

void EnergyMeter::Deleter::operator()(mjData* data) const { mj_deleteData(data); }

EnergyMeter::EnergyMeter(const LoadedModel& model) : model_(model.mujoco()), data_(mj_makeData(model_)) {}

double EnergyMeter::of(const std::vector<float>& qpos, const std::vector<float>& qvel) const {
  std::copy(qpos.begin(), qpos.end(), data_->qpos);
  std::copy(qvel.begin(), qvel.end(), data_->qvel);
  mj_kinematics(model_, data_.get());
  mj_comPos(model_, data_.get());
  mj_tendon(model_, data_.get());
  mj_makeM(model_, data_.get());
  mj_energyPos(model_, data_.get());
  mj_energyVel(model_, data_.get());
  return data_->energy[0] + data_->energy[1];
}

}  // namespace hotloop
