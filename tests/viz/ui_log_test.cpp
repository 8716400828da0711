// The window on a trajectory log. What it shows is compared with the log's own numbers, read beside it.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>

#include "data/log/log_reader.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_driver.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 8, kRows = 60 * 32;

class UiLog : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TempFolder();
    ASSERT_EQ(train_quietly(small_training(*folder / "run"), log_to(*folder / "train.h5")), 0);
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }

  UiLog() : source(open_source({.what = path(), .device = "cpu"})), ui(*source, UiDriver::paused_window()) {
    ui.pictures(3);
  }
  static std::string path() { return *folder / "train.h5"; }

  // Of all rows, [rows][worlds].
  std::vector<float> floats(const char* key) const {
    std::vector<float> values(kRows * kWorlds * log.key(key).numel());
    log.read(key, 0, kRows, 0, kWorlds, values.data());
    return values;
  }
  std::vector<std::uint8_t> flags(const char* key) const {
    std::vector<std::uint8_t> values(kRows * kWorlds);
    log.read(key, 0, kRows, 0, kWorlds, values.data());
    return values;
  }
  bool ends(std::int64_t row, std::int64_t world) const {
    const auto i = static_cast<std::size_t>(row * kWorlds + world);
    return terminated[i] != 0 || truncated[i] != 0;
  }

  // The picture and the panels show `row` of the log: bit for bit.
  void expect_row(std::int64_t row) {
    SCOPED_TRACE(row);
    EXPECT_EQ(source->position(), row);
    const std::int64_t before = ui.view().selected;
    for (std::int64_t world = 0; world < kWorlds; ++world) {
      ui.view().select_world(world);
      ui.pictures(1);
      const float* logged = &observation[static_cast<std::size_t>((row * kWorlds + world) * 4)];
      ASSERT_EQ(ui.view().frames.size(), 3u);
      EXPECT_EQ(ui.view().frames[1].pos[0], logged[0]) << "the cart of world " << world;
      EXPECT_EQ(ui.view().recorder.report().observation, std::vector<float>(logged, logged + 4)) << world;
    }
    ui.view().select_world(before);
    ui.pictures(1);
  }

  static TempFolder* folder;
  const LogReader log{path()};
  const std::vector<float> observation = floats("observation"), reward = floats("next/reward");
  const std::vector<std::uint8_t> terminated = flags("next/terminated"), truncated = flags("next/truncated");
  const std::unique_ptr<WorldSource> source;
  UiDriver ui;
};
TempFolder* UiLog::folder = nullptr;

TEST_F(UiLog, ScrubsToAnyRow) {
  expect_row(0);
  for (const std::int64_t row : {137, 1919, 64, 63, 1000}) {
    ui.in("Simulation", [&](ImGuiTestContext& user) { user.ItemInputValue("History", static_cast<int>(row)); });
    expect_row(row);
  }
  ui.press(ImGuiKey_Home);
  expect_row(0);
  ui.press(ImGuiKey_End);
  expect_row(kRows - 1);
  ui.press(ImGuiKey_RightArrow);
  expect_row(kRows - 1);
}

TEST_F(UiLog, StepsForwardAndBackOverTheEndsOfIterations) {
  ui.view().pacer.seek(30);
  ui.press(ImGuiKey_RightArrow, 5);
  expect_row(35);
  ui.press(ImGuiKey_LeftArrow, 6);
  expect_row(29);
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  expect_row(39);
}

TEST_F(UiLog, PlaysForwardAtTheChosenSpeed) {
  const double period = source->info().control_period;
  for (const int exponent : {-2, 0, 3}) {
    source->seek(100);
    ui.view().pacer.set_exponent(exponent);
    ui.view().pacer.paused = false;
    double clock = 0;
    for (int i = 0; i < 100'000 && clock < 0.4; ++i) {
      ui.pictures(1);
      clock += std::min(ui.view().frame_seconds, 0.1);
    }
    ui.view().pacer.paused = true;
    const double played = static_cast<double>(source->position() - 100) * period;
    EXPECT_NEAR(played, clock * std::ldexp(1.0, exponent), 0.03 * std::ldexp(1.0, exponent) + period) << exponent;
    expect_row(source->position());
  }
}

TEST_F(UiLog, PlaysBackward) {
  source->seek(200);
  ui.in("Simulation", [](ImGuiTestContext& user) { user.ItemCheck("Backward"); });
  EXPECT_TRUE(ui.view().pacer.backward);
  ui.view().pacer.set_exponent(2);
  ui.view().pacer.paused = false;
  for (int i = 0; i < 1000 && source->position() > 150; ++i) ui.pictures(1);
  ui.view().pacer.paused = true;
  EXPECT_GT(source->position(), 100);
  expect_row(source->position());
  ui.view().pacer.set_exponent(6);
  ui.view().pacer.paused = false;
  for (int i = 0; i < 1000 && source->position() > 0; ++i) ui.pictures(1);
  ui.pictures(3);
  expect_row(0);  // and stays there
  ui.press(ImGuiMod_Shift | ImGuiKey_Space);
  EXPECT_FALSE(ui.view().pacer.backward);
}

TEST_F(UiLog, StopsAtItsEnd) {
  source->seek(kRows - 20);
  ui.view().pacer.set_exponent(6);
  ui.view().pacer.paused = false;
  for (int i = 0; i < 1000 && source->position() < kRows - 1; ++i) ui.pictures(1);
  ui.pictures(3);
  expect_row(kRows - 1);
}

TEST_F(UiLog, JumpsToEndsOfEpisodes) {
  const std::int64_t world = 5;
  ui.view().select_world(world);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < kRows; ++row)
    if (ends(row, world)) rows.push_back(row);
  ASSERT_GT(rows.size(), 5u);
  ui.pictures(20);  // all of the log is looked at
  for (const std::int64_t row : {rows[0], rows[1], rows[2]}) {
    ui.press(ImGuiKey_N);
    expect_row(row);
    EXPECT_TRUE(ui.view().recorder.report().terminated);
  }
  ui.press(ImGuiMod_Shift | ImGuiKey_N);
  expect_row(rows[1]);
}

TEST_F(UiLog, FindsTheBestAndTheWorstEpisode) {
  ui.pictures(20);
  double best = 0, worst = 1e9;
  for (std::int64_t world = 0; world < kWorlds; ++world) {
    double sum = 0;
    for (std::int64_t row = 0; row < kRows; ++row) {
      sum += reward[static_cast<std::size_t>(row * kWorlds + world)];
      if (!ends(row, world)) continue;
      best = std::max(best, sum);
      worst = std::min(worst, sum);
      sum = 0;
    }
  }
  const auto expect_episode = [&](double episode_return) {
    const std::int64_t world = ui.view().selected, start = source->position();
    EXPECT_TRUE(start == 0 || ends(start - 1, world));
    double sum = 0;
    std::int64_t row = start - 1;
    do {
      sum += reward[static_cast<std::size_t>(++row * kWorlds + world)];
    } while (!ends(row, world) && row < source->last_position());
    EXPECT_EQ(sum, episode_return);
    expect_row(start);
  };
  ui.in("Episodes", [](ImGuiTestContext& user) { user.ItemClick("Best"); });
  expect_episode(best);
  ui.in("Episodes", [](ImGuiTestContext& user) { user.ItemClick("Worst"); });
  expect_episode(worst);
  ui.in("Episodes", [](ImGuiTestContext& user) { user.ItemClick("episodes/$$0/terminated"); });
  EXPECT_TRUE(ends(source->position(), ui.view().selected));
  EXPECT_EQ(ui.view().recorder.report().episode_return, best);
}

TEST_F(UiLog, ShowsItsTensors) {
  source->seek(99);
  ui.in("Tensors", [&](ImGuiTestContext& user) {
    user.ItemClick("**/###observation");
    user.Yield(3);
  });
  const std::vector<float>& shown = ui.view().panel.tensors.values;
  ASSERT_EQ(shown.size(), 64u * kWorlds * 4);
  const auto first = observation.begin() + 36 * kWorlds * 4;
  EXPECT_TRUE(std::equal(shown.begin(), shown.end(), first)) << "the 64 rows up to the shown one";
}

}  // namespace
}  // namespace hotloop
