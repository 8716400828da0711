// Worlds of a bare model, for the viewer: nobody acts but by hand, or random controls do.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/mujoco/energy.h"
#include "sim/mujoco/model_batch.h"
#include "viz/source/live_options.h"
#include "viz/source/live_source.h"

namespace hotloop {

class ModelSource final : public LiveSource {
 public:
  struct Config {
    std::int64_t worlds = 1, seed = 1;
    Device device = {};
    bool random = false;  // controls
  };
  ModelSource(std::shared_ptr<const LoadedModel> model, const Config& config);

  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;
  // One step of the model's own time step.
  void step() override;
  // To keyframe 0 where the model has one, with the model's own physics.
  void reset() override;
  void restart(std::int64_t seed) override;
  void release() override;

  WorldReport report(std::int64_t world) override;
  void set_qpos(std::int64_t world, std::span<const float> qpos) override;
  std::vector<std::string> keyframes() override { return model_->data().key_names; }
  void set_keyframe(std::int64_t world, int index) override;
  std::vector<PhysicsOption> physics_options() override { return options_.list(); }
  void set_physics_option(const std::string& name, double value) override;
  void read_actions(std::vector<float>& out) override;

 private:
  float* forces() const override { return batch_.xfrc_applied(); }
  std::vector<ContactRecord> read_contacts(std::int64_t world) const override { return batch_.contacts(exec_, world); }
  void repeat_step() override { batch_.step(exec_, 1); }

  std::shared_ptr<const LoadedModel> model_;
  bool random_;
  ModelBatch batch_;
  LiveOptions options_;
  EnergyMeter energy_;
};

}  // namespace hotloop
