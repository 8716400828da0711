// A training under way, for the viewer: its latest rollout replayed, or worlds as they were at the end of a recent
// iteration; leaves of the rollout and curves. The training's thread calls the observer's half, the viewer's thread the
// rest; the training queues reading copies on its own stream where the viewer has asked for some, and never waits.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "train/observer.h"
#include "train/trainer.h"
#include "viz/source/leaf_copies.h"
#include "viz/source/rollout_replay.h"
#include "viz/source/world_source.h"

namespace hotloop {

class TrainingSource final : public TrainObserver, public WorldSource {
 public:
  static constexpr std::int64_t kMaxWorlds = 16384;  // shown of a larger training

  // The worlds of a training that has not begun yet.
  TrainingSource(const TrainConfig& config, Device device);
  ~TrainingSource() override;

  // ---- the training's thread
  void started(const Run& run) override;
  void queued() override;
  void row(const MetricRow& row) override;
  void message(const std::string& line) override;
  void ended() noexcept override;

  // ---- the viewer's thread
  const SourceInfo& info() const override { return info_; }
  const VisualModel& visual() const override { return visual_; }
  const Exec& exec() const override { return exec_; }
  void pass(double seconds) override;
  // Of the rollout that is replayed; before that the newest that have arrived; `out` stays as it is before any.
  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override;
  std::int64_t position() const override;
  WorldReport report(std::int64_t world) override;
  void read_observations(std::vector<float>& out) override;
  void read_actions(std::vector<float>& out) override;
  std::vector<TensorInfo> tensors() override;
  std::vector<float> read_tensor(const std::string& key, std::int64_t limit) override;
  // A copy that changes with the next call only.
  const Telemetry* telemetry() override;
  // How far the next rollout has come, in words.
  std::string replay_text() const;

 private:
  template <class F>
  void serve(const F& copies);
  void stage_frames();
  void begin_replay(const Run& run);
  // Null before there is one to show.
  RolloutReplay* replay() const;
  // The last step's row of a leaf [num_steps, num_envs, ...], of the worlds that are shown.
  std::vector<float> shown_worlds(const std::string& leaf);
  WorldReport replayed(std::int64_t world) const;
  // Rows [first, first + rows) of what the replay's latest step took or gave.
  std::vector<float> replayed_actions(std::int64_t first, std::int64_t rows) const;

  SourceInfo info_;
  VisualModel visual_;
  std::int64_t num_envs_, num_steps_;
  StreamHandle stream_;
  Exec exec_;
  LeafCopies leaves_;
  // of the training's thread alone:
  Trainer* trainer_ = nullptr;
  bool serving_ = true;  // the viewer's copies have not failed

  mutable std::mutex mutex_;  // of all below
  std::vector<TensorInfo> tensors_;
  Buffer<Frame> staged_, shown_;
  EventHandle staged_done_, shown_done_;
  bool want_frames_ = true, frames_under_way_ = false, have_frames_ = false;
  Telemetry telemetry_, published_;
  bool news_ = true;                       // telemetry_ is newer
  std::unique_ptr<RolloutReplay> replay_;  // once there, it stays
  std::map<std::string, std::size_t> curve_of_;
};

}  // namespace hotloop
