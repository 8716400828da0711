// A source for tests of the viewer: an arm of two links on a free base in every world, and everything that a source can
// have. Records what it was asked to do.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "viz/source/world_source.h"

namespace hotloop {

class FakeSource : public WorldSource {
 public:
  explicit FakeSource(std::int64_t worlds = 9, SourceKind kind = SourceKind::task);

  // ---- what happened
  int steps = 0, resets = 0, releases = 0;
  std::int64_t restarted_with = -1;
  std::int64_t taken_world = -1;
  std::vector<float> taken_action;
  std::int64_t posed_world = -1;
  std::vector<float> qpos = {0, 0, 0.6f, 1, 0, 0, 0, 0.3f, -0.4f};
  struct Push {
    std::int64_t world;
    int frame;
    Float3 force, torque;
  };
  std::vector<Push> pushes;
  int keyframe = -1;
  std::vector<PhysicsOption> options;
  Telemetry training;
  bool has_training = false;
  std::vector<EpisodeMark> marks;
  std::string tensor_read;

  SourceInfo what;

  const SourceInfo& info() const override { return what; }
  const VisualModel& visual() const override { return model_; }
  const Exec& exec() const override { return exec_; }
  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;
  void step() override;
  void reset() override;
  void restart(std::int64_t seed) override;
  std::int64_t position() const override { return position_; }
  std::int64_t first_position() const override { return std::max<std::int64_t>(0, newest_ - 1000); }
  std::int64_t last_position() const override { return newest_; }
  void seek(std::int64_t position) override { position_ = position; }
  WorldReport report(std::int64_t world) override;
  std::vector<ShownContact> contacts(std::int64_t world) override;
  void take_over(std::int64_t world, std::span<const float> action) override;
  void release() override { ++releases; }
  void set_qpos(std::int64_t world, std::span<const float> values) override;
  void perturb(std::int64_t world, int frame, const Float3& force, const Float3& torque) override;
  std::vector<std::string> keyframes() override { return {"home", "bent"}; }
  void set_keyframe(std::int64_t, int index) override { keyframe = index; }
  std::vector<PhysicsOption> physics_options() override { return options; }
  void set_physics_option(const std::string& name, double value) override;
  void take_episode_ends(std::vector<EpisodeEnd>& out) override;
  void read_observations(std::vector<float>& out) override;
  void read_actions(std::vector<float>& out) override;
  std::vector<TensorInfo> tensors() override;
  std::vector<float> read_tensor(const std::string& key, std::int64_t limit) override;
  const Telemetry* telemetry() override { return has_training ? &training : nullptr; }
  const std::vector<EpisodeMark>& episodes() override { return marks; }

 private:
  VisualModel model_;
  Exec exec_;
  std::int64_t position_ = 0, newest_ = 0;
  std::vector<EpisodeEnd> ends_;
};

// One with a training's curves, options of physics, a log's episodes: nothing is missing in any panel.
FakeSource full_source(std::int64_t worlds = 9);

}  // namespace hotloop
