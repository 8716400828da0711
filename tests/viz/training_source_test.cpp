#include "viz/source/training_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "viz/watch.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// What a viewer does that shows everything, until the training has ended.
struct Looking {
  explicit Looking(TrainingSource& source) : source_(source), thread_([this] { look(); }) {}
  ~Looking() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::vector<Frame> frames;
  std::vector<float> observations, rewards;
  WorldReport report;

 private:
  void look() {
    const SourceInfo& info = source_.info();
    frames.resize(static_cast<std::size_t>(info.num_worlds * source_.visual().num_frames()));
    Buffer<Frame> there(info.device, frames.size());
    while (!stop_) {
      source_.pass(0.05);
      source_.write_frames(0, info.num_worlds, there.data());
      copy_async(source_.exec(), frames.data(), Device{}, there.data(), info.device, frames.size() * sizeof(Frame));
      synchronize(source_.exec());
      std::vector<float> seen;
      source_.read_observations(seen);
      if (!seen.empty()) observations = seen;
      if (std::vector<float> r = source_.read_tensor("next/reward", 5); !r.empty()) rewards = std::move(r);
      report = source_.report(3);
      source_.telemetry();
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  }
  TrainingSource& source_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void expect_watched(const TrainConfig& config) {
  TrainingSource source(config, parse_device(config.device));
  Looking looking(source);
  ASSERT_EQ(train_quietly(config, {}, &source), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  looking.stop();
  const Telemetry& t = *source.telemetry();
  EXPECT_TRUE(t.finished);
  EXPECT_EQ(t.iteration, 60);
  EXPECT_EQ(t.total_iterations, 60);
  EXPECT_EQ(t.global_step, 15360);
  const auto curve = std::find_if(t.curves.begin(), t.curves.end(),
                                  [](const TelemetryCurve& c) { return c.name == "charts/episodic_return"; });
  ASSERT_NE(curve, t.curves.end());
  EXPECT_GT(curve->value.size(), 10u);
  EXPECT_EQ(curve->step.size(), curve->value.size());
  // worlds are shown where they are: the cart at the observation's first number
  ASSERT_EQ(looking.observations.size(), 8u * 4);
  EXPECT_EQ(looking.report.observation.size(), 4u);
  EXPECT_EQ(looking.report.reward, 1.0f);
  ASSERT_EQ(looking.rewards.size(), 5u * 8);
  EXPECT_TRUE(std::all_of(looking.rewards.begin(), looking.rewards.end(), [](float r) { return r == 1.0f; }));
  float farthest = 0;
  for (const Frame& f : looking.frames) farthest = std::max(farthest, std::abs(f.pos[0]));
  EXPECT_GT(farthest, 0.001f);
  EXPECT_LT(farthest, 5.0f);
}

void expect_same_bits(const char* device) {
  const TempFolder folder;
  for (const char* road : {"fused", "generic"}) {
    SCOPED_TRACE(road);
    const fs::path plain = folder.path() / (std::string("plain_") + road);
    const fs::path watched = folder.path() / (std::string("watched_") + road);
    ASSERT_EQ(train_quietly(small_training(plain, {{"road", road, ""}, {"device", device, ""}})), 0);
    expect_watched(small_training(watched, {{"road", road, ""}, {"device", device, ""}}));
    expect_same_run(plain, watched);
  }
}

TEST(TrainingSource, WatchingChangesNoBit) { expect_same_bits("cpu"); }

TEST(TrainingSource, GpuWatchingChangesNoBit) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  expect_same_bits("cuda");
}

// Looks after every iteration, on the training's own thread.
class EveryIteration final : public TrainObserver {
 public:
  explicit EveryIteration(TrainingSource& source) : source_(source) {}
  void started(const Run& run) override { source_.started(run); }
  void row(const MetricRow& row) override { source_.row(row); }
  void message(const std::string& line) override { source_.message(line); }
  void ended() noexcept override { source_.ended(); }
  // Carts stand where the observations after the rollout's last step say: both are of this iteration.
  void queued() override {
    source_.queued();
    const auto n = static_cast<std::size_t>(source_.visual().num_frames());
    std::vector<Frame> frames(8 * n);
    source_.write_frames(0, 8, frames.data());
    std::vector<float> observations;
    source_.read_observations(observations);
    if (observations.empty()) return;  // asked for after this one
    ++compared;
    for (std::size_t w = 0; w < 8; ++w) EXPECT_NEAR(frames[w * n + 1].pos[0], observations[4 * w], 1e-6) << compared;
  }
  int compared = 0;

 private:
  TrainingSource& source_;
};

TEST(TrainingSource, WorldsAndObservationsAreOfOneMoment) {
  const TempFolder folder;
  for (const char* road : {"fused", "generic"}) {
    SCOPED_TRACE(road);
    const TrainConfig config = small_training(folder / road, {{"road", road, ""}});
    TrainingSource source(config, parse_device("cpu"));
    EveryIteration observer(source);
    ASSERT_EQ(train_quietly(config, {}, &observer), 0);
    EXPECT_GT(observer.compared, 50);
  }
}

// Looks at the replay a step at a time. At its end the worlds are where the training had them then.
class StepByStep final : public TrainObserver {
 public:
  explicit StepByStep(TrainingSource& source) : source_(source) {}
  void started(const Run& run) override {
    trainer_ = &run.trainer;
    num_steps_ = run.config.num_steps;
    source_.started(run);
  }
  void row(const MetricRow& row) override { source_.row(row); }
  void message(const std::string& line) override { source_.message(line); }
  void ended() noexcept override { source_.ended(); }
  void queued() override {
    source_.queued();
    const Exec& exec = trainer_->exec();
    then_[trainer_->enqueued() * num_steps_] =
        positions(exec, [&](Frame* to) { trainer_->batch()->write_frames(exec, 0, 8, to); });
    // steps have a budget: where one takes long, it is saved up over several looks
    for (int i = 0, moved = 0; i < 200 && moved < 9; ++i) moved += look();
  }
  int compared = 0, steps = 0;

 private:
  // Positions of all frames; write: puts frames into memory of exec's device.
  template <class F>
  std::vector<float> positions(const Exec& exec, const F& write) {
    std::vector<Frame> frames(8 * static_cast<std::size_t>(source_.visual().num_frames()));
    Buffer<Frame> there(exec.device, frames.size());
    write(there.data());
    copy_async(exec, frames.data(), Device{}, there.data(), exec.device, there.bytes());
    synchronize(exec);
    std::vector<float> all;
    for (const Frame& f : frames) all.insert(all.end(), f.pos, f.pos + 3);
    return all;
  }
  // Whether anything has moved.
  bool look() {
    const std::int64_t before = source_.position();
    source_.pass(source_.info().control_period);
    const std::int64_t now = source_.position();
    if (now == before) return false;
    if (now == before + 1) ++steps;
    const auto known = then_.find(now);
    if (known == then_.end() || now != before + 1) return true;
    EXPECT_EQ(positions(source_.exec(), [&](Frame* to) { source_.write_frames(0, 8, to); }), known->second) << now;
    ++compared;
    return true;
  }
  TrainingSource& source_;
  Trainer* trainer_ = nullptr;
  std::int64_t num_steps_ = 0;
  std::map<std::int64_t, std::vector<float>> then_;  // by steps of the training
};

void expect_replays(std::vector<Setting> settings) {
  const TempFolder folder;
  settings.push_back({"eval_interval", "0", ""});
  const TrainConfig config = small_training(folder / "run", settings);
  SCOPED_TRACE(config.task + ", road " + config.road + ", precision " + config.precision);
  TrainingSource source(config, parse_device(config.device));
  StepByStep observer(source);
  try {
    ASSERT_EQ(train_quietly(config, {}, &observer), 0);
  } catch (const Error& e) {
    FAIL() << "the training itself ended: " << e.what();
  }
  const auto why = [&] {
    std::string text = source.replay_text() + "; the training said:";
    for (const std::string& line : source.telemetry()->log_lines) text += "\n  " + line;
    return text;
  };
  EXPECT_GT(observer.steps, 64) << "steps of rollouts were shown; " << why();
  EXPECT_GT(observer.compared, 2) << "rollouts were shown to their end; " << why();
}

TEST(TrainingSource, ReplaysRolloutsStepByStep) {
  for (const char* task : {"CartPole-v1", "InvertedPendulum-v5"})
    for (const char* road : {"fused", "generic"}) expect_replays({{"task", task, ""}, {"road", road, ""}});
}

// Of the fused road both ways: one kernel for iterations, queued many at once, and its networks in kernels of their
// own, which take what one kernel does not.
TEST(TrainingSource, GpuReplaysRolloutsStepByStep) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Setting on_card{"device", "cuda", ""};
  expect_replays({on_card, {"task", "CartPole-v1", ""}, {"road", "fused", ""}});
  expect_replays({on_card, {"task", "CartPole-v1", ""}, {"road", "generic", ""}});
  expect_replays({on_card, {"task", "InvertedPendulum-v5", ""}, {"road", "fused", ""}, {"precision", "fp16", ""}});
  expect_replays({on_card, {"task", "InvertedPendulum-v5", ""}, {"road", "generic", ""}});
}

// What the panels say of a training under way.
class AtItsStart final : public TrainObserver {
 public:
  AtItsStart(TrainingSource& source, std::int64_t num_steps) : source_(source), num_steps_(num_steps) {}
  void started(const Run& run) override {
    source_.started(run);
    const Frame nothing{{0, 0, 0}, 0, {0, 0, 0, 0}};
    std::vector<Frame> frames(8 * static_cast<std::size_t>(source_.visual().num_frames()), nothing);
    source_.write_frames(0, 8, frames.data());
    for (const Frame& frame : frames) EXPECT_NE(frame.quat[0], 0.0f) << "a picture of no state of the training";
  }
  void row(const MetricRow& row) override { source_.row(row); }
  void message(const std::string& line) override { source_.message(line); }
  void ended() noexcept override { source_.ended(); }
  void queued() override {
    source_.queued();
    EXPECT_EQ(source_.position(), ++iterations * num_steps_);
    terms = source_.report(0).reward_terms;
  }
  std::int64_t iterations = 0;
  std::vector<float> terms;

 private:
  TrainingSource& source_;
  std::int64_t num_steps_;
};

TEST(TrainingSource, TellsItsTimeAndBeginsWithItsWorlds) {
  const TempFolder folder;
  const TrainConfig config = small_training(
      folder / "run",
      {{"task", "InvertedPendulum-v5", ""}, {"total_timesteps", "2048", ""}, {"eval_interval", "0", ""}});
  TrainingSource source(config, parse_device("cpu"));
  AtItsStart observer(source, config.num_steps);
  ASSERT_EQ(train_quietly(config, {}, &observer), 0);
  EXPECT_GT(observer.iterations, 2);
  EXPECT_NEAR(source.info().control_period, 0.04, 1e-9);
  EXPECT_EQ(observer.terms.size(), source.info().reward_terms.size());
  EXPECT_FALSE(observer.terms.empty());
}

TEST(TrainingSource, OutlivesItsTrainingAndItsFolder) {
  const TempFolder folder;
  const TrainConfig config = small_training(folder / "run");
  TrainingSource source(config, parse_device("cpu"));
  ASSERT_EQ(train_quietly(config, {}, &source), 0);
  fs::remove_all(folder / "run");
  const Frame nothing{{0, 0, 0}, 0, {0, 0, 0, 0}};
  std::vector<Frame> frames(8 * static_cast<std::size_t>(source.visual().num_frames()), nothing);
  source.write_frames(0, 8, frames.data());
  EXPECT_TRUE(source.telemetry()->finished);
  EXPECT_TRUE(source.read_tensor("no/such", 1).empty());
  EXPECT_NE(frames[1].quat[0], 0.0f);
}

TEST(TrainingSource, AFailedTrainingEndsIt) {
  const TempFolder folder;
  const TrainConfig config = small_training(folder / "run");
  ASSERT_EQ(train_quietly(config), 0);
  TrainingSource source(config, parse_device("cpu"));
  EXPECT_THROW(train_quietly(config, {}, &source), Error);  // the folder is not empty: nothing began
  EXPECT_FALSE(source.telemetry()->finished);
}

TEST(Watch, DrawingGivesWay) {
  EXPECT_NEAR(picture_period(0.004, true), 0.1, 1e-9);
  EXPECT_LE(0.010 / picture_period(0.010, true), 0.05);
  EXPECT_NEAR(picture_period(0.02, false), 0.08, 1e-9);
  EXPECT_LE(picture_period(10.0, false), 1.0);
}

}  // namespace
}  // namespace hotloop
