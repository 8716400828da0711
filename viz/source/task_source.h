// Worlds of a task, for the viewer: with random or zero actions, or with those that a derived source chooses.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/core/registry.h"
#include "sim/mujoco/energy.h"
#include "viz/source/live_source.h"

namespace hotloop {

class TaskSource : public LiveSource {
 public:
  enum class Actions : std::uint8_t { zero, random };
  TaskSource(const EnvEntry& env, const BatchConfig& config, Actions actions);

  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;
  void step() override;
  void reset() override;
  void restart(std::int64_t seed) override;

  WorldReport report(std::int64_t world) override;
  void set_qpos(std::int64_t world, std::span<const float> qpos) override;
  std::vector<std::string> keyframes() override;
  void set_keyframe(std::int64_t world, int index) override;

  void read_returns(std::vector<float>& out) override;
  void take_episode_ends(std::vector<EpisodeEnd>& out) override;
  void read_observations(std::vector<float>& out) override;
  void read_actions(std::vector<float>& out) override;

 protected:
  // Actions of all worlds for the step from position() on, from what buffers() hold, into buffers().action. Must be a
  // function of the position and of the state that the history keeps.
  virtual void choose_actions();
  Batch& batch() { return *batch_; }
  const StepBuffers& buffers() const { return buffers_; }
  // More state that belongs to a position, such as a policy's; before the first step. On exec()'s device.
  void keep_also(const History::Part& part);

 private:
  float* forces() const override { return batch_->xfrc_applied(); }
  std::vector<ContactRecord> read_contacts(std::int64_t world) const override { return batch_->contacts(exec_, world); }
  void repeat_step() override { batch_->step(exec_, buffers_.io()); }
  void start();
  void write_hands();
  void note_ends();
  std::size_t num_terms() const { return info_.reward_terms.size(); }

  const EnvEntry& env_;
  BatchConfig config_;
  Actions actions_;
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  std::unique_ptr<RandomActions> random_;
  // As they were before the latest step.
  Buffer<float> returns_before_, terms_before_;
  Buffer<std::int32_t> lengths_before_;
  std::vector<History::Part> more_;
  std::vector<EpisodeEnd> ends_;
  std::unique_ptr<EnergyMeter> energy_;
};

}  // namespace hotloop
