// The window on a trained policy and on a training under way.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <thread>

#include "data/file.h"
#include "data/log/log_reader.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_driver.h"
#include "viz/source/training_source.h"
#include "viz/ui/panel.h"

namespace hotloop {
namespace {

const TelemetryCurve* curve(WorldSource& source, const std::string& name) {
  const Telemetry* t = source.telemetry();
  if (!t) return nullptr;
  const auto found =
      std::find_if(t->curves.begin(), t->curves.end(), [&](const TelemetryCurve& c) { return c.name == name; });
  return found == t->curves.end() ? nullptr : &*found;
}

// The episodes that `play` plays with the same seed, step by step.
TEST(UiRun, ShowsWhatPlayPlays) {
  const TempFolder folder;
  ASSERT_EQ(train_quietly(small_training(folder / "run")), 0);
  PlayOptions play;
  play.policy.path = folder / "run";
  play.episodes = 4;
  play.seed = 77;
  play.json = true;
  play.log.path = folder / "play.h5";
  ASSERT_EQ(play_command(play), 0);
  const LogReader log(play.log.path);

  const std::unique_ptr<WorldSource> source =
      open_source({.what = folder / "run", .worlds = 4, .seed = 77, .device = "cpu"});
  UiDriver ui(*source, UiDriver::paused_window());
  ui.pictures(2);
  EXPECT_EQ(source->info().kind, SourceKind::policy);
  for (std::int64_t row = 0; row < 9; ++row) {
    std::vector<float> shown, logged(4 * 4);
    source->read_observations(shown);
    log.read("observation", row, 1, 0, 4, logged.data());
    EXPECT_EQ(shown, logged) << row;
    ui.press(ImGuiKey_RightArrow);
  }
}

TEST(UiRun, HasItsCurvesAndOutlivesItsFolder) {
  const TempFolder folder;
  ASSERT_EQ(train_quietly(small_training(folder / "run")), 0);
  const std::unique_ptr<WorldSource> source = open_source({.what = folder / "run", .worlds = 4, .device = "cpu"});
  UiDriver ui(*source);
  ui.in("Training", [](ImGuiTestContext& user) { user.ItemInputValue("##filter", "loss"); });
  EXPECT_EQ(ui.view().panel.training.filter, "loss") << "there are curves, so there is a filter";
  const TelemetryCurve* returns = curve(*source, "charts/episodic_return");
  ASSERT_NE(returns, nullptr);
  EXPECT_GT(returns->value.size(), 10u);
  std::filesystem::remove_all(folder / "run");
  const std::int64_t before = source->position();
  ui.pictures(30);
  EXPECT_GT(source->position(), before);
  EXPECT_NE(curve(*source, "charts/episodic_return"), nullptr);
}

// Of a run under way, or stopped before its end.
TEST(UiRun, SaysHowFarItsTrainingIs) {
  const TempFolder folder;
  ASSERT_EQ(train_quietly(small_training(folder / "run")), 0);
  const auto opened = [&] { return open_source({.what = folder / "run", .worlds = 4, .device = "cpu"}); };
  const std::unique_ptr<WorldSource> done = opened();
  const Telemetry* t = done->telemetry();
  ASSERT_NE(t, nullptr);
  EXPECT_TRUE(t->finished);
  EXPECT_EQ(t->iteration, 60);
  EXPECT_EQ(t->total_iterations, 60);
  EXPECT_EQ(t->global_step, 15360);
  EXPECT_GT(t->steps_per_second, 0);
  EXPECT_GT(t->elapsed_seconds, 0);
  EXPECT_EQ(curve(*done, "iteration"), nullptr);
  write_file(folder / "run/config.toml",
             "task = \"CartPole-v1\"\nnum_envs = 8\nnum_steps = 32\ntotal_timesteps = 25600\n");
  const std::unique_ptr<WorldSource> unfinished = opened();
  EXPECT_FALSE(unfinished->telemetry()->finished);
  EXPECT_EQ(unfinished->telemetry()->total_iterations, 100);
  UiDriver ui(*unfinished);
  ui.view().count = 1;
  for (int i = 0; i < 1000 && ui.view().steps_per_second() == 0; ++i) ui.pictures(1);
  EXPECT_LT(ui.view().steps_per_second(), 1000) << "of the worlds that are shown: 50 steps a second each";
}

// A training on a thread of its own, as `train --watch` has it.
class UiTraining : public testing::Test {
 protected:
  UiTraining()
      : config(longer("watched")),
        source(config, parse_device("cpu")),
        ui(source),
        training([this] { status = train_quietly(config, {}, &source); }) {}
  ~UiTraining() override {
    if (training.joinable()) training.join();
  }
  TrainConfig longer(const char* name) const {
    return small_training(folder / name, {{"total_timesteps", "460800", ""}, {"eval_interval", "200", ""}});
  }
  bool finished() { return source.telemetry()->finished; }
  void wait_for(const std::function<bool()>& what) {
    while (!what() && !finished()) {
      ui.pictures(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the training computes on the same cores
    }
    ASSERT_TRUE(what());
  }

  const TempFolder folder;
  const TrainConfig config;
  TrainingSource source;
  UiDriver ui;
  int status = -1;
  std::thread training;
};

TEST_F(UiTraining, CurvesFillAndWorldsMove) {
  ui.in("Tensors", [](ImGuiTestContext& user) { user.ItemClick("**/###next\\/reward"); });
  const std::vector<float>& rewards = ui.view().panel.tensors.values;
  wait_for([&] { return !rewards.empty(); });
  ASSERT_EQ(rewards.size(), 32u * 8);
  EXPECT_EQ(std::count(rewards.begin(), rewards.end(), 1.0f), 32 * 8);
  const std::vector<Frame> before = ui.view().frames;
  const auto points = [&] {
    const TelemetryCurve* returns = curve(source, "charts/episodic_return");
    return returns ? returns->value.size() : 0;
  };
  const std::size_t few = points();
  wait_for([&] { return points() > few + 20; });
  ASSERT_EQ(before.size(), 3u);
  EXPECT_NE(ui.view().frames[1].pos[0], before[1].pos[0]);
  ui.in("Training", [](ImGuiTestContext& user) { user.ItemInputValue("##filter", "return"); });
  EXPECT_EQ(ui.view().panel.training.filter, "return");
  EXPECT_GT(ui.view().steps_per_second(), 0);
  EXPECT_NE(speed_text(ui.view()), "steps/s not known yet");
}

TEST_F(UiTraining, VStopsDrawingAndTheTrainingGoesOn) {
  wait_for([&] { return source.position() > 5; });
  ui.press(ImGuiKey_V);
  ui.pictures(2);
  const std::vector<Frame> before = ui.view().frames;
  const std::int64_t iteration = source.position();
  wait_for([&] { return source.position() > iteration + 50; });
  ASSERT_EQ(before.size(), 3u);
  EXPECT_EQ(ui.view().frames[1].pos[0], before[1].pos[0]);
  ui.press(ImGuiKey_V);
  ui.pictures(5);
  EXPECT_NE(ui.view().frames[1].pos[0], before[1].pos[0]);
}

// Panels that read everything are open, and no bit of the training changes.
TEST_F(UiTraining, ParametersAreThoseOfATrainingThatNobodyWatches) {
  for (const char* panel : {"Distributions", "Tensors", "Watch", "Rewards"})
    ui.in(panel, [](ImGuiTestContext& user) { user.Yield(3); });
  wait_for([&] { return finished(); });
  training.join();
  EXPECT_EQ(status, 0);
  ASSERT_EQ(train_quietly(longer("alone")), 0);
  expect_same_run(folder / "alone", folder / "watched");
}

}  // namespace
}  // namespace hotloop
