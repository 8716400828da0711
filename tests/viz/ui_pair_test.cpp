// Two logs side by side: what is shown of each is compared with its own numbers, read beside it.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "data/log/log_reader.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_driver.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 8;

class UiPair : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TempFolder();
    const auto train = [](const char* name, const char* seed, const char* steps) {
      const std::filesystem::path run = *folder / name;
      const TrainConfig config = small_training(run, {{"seed", seed, ""}, {"total_timesteps", steps, ""}});
      ASSERT_EQ(train_quietly(config, log_to(run.string() + ".h5")), 0);
    };
    train("one", "1", "5120");
    train("two", "2", "7680");
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }
  static std::string file(const char* name) { return *folder / name; }

  UiPair()
      : source(open_source({.what = file("one.h5"), .beside = file("two.h5"), .device = "cpu"})),
        ui(*source, UiDriver::paused_window()) {
    ui.pictures(5);
  }

  std::vector<float> observation(std::size_t log, std::int64_t row, std::int64_t world) const {
    std::vector<float> values(4);
    logs[log].read("observation", row, 1, world, 1, values.data());
    return values;
  }
  // First and last rows of a world's episodes that ended.
  std::vector<std::array<std::int64_t, 2>> episodes(std::size_t log, std::int64_t world) const {
    std::vector<std::array<std::int64_t, 2>> found;
    std::int64_t start = 0;
    for (std::int64_t row = 0; row < logs[log].num_rows(); ++row) {
      std::uint8_t terminated = 0, truncated = 0;
      logs[log].read("next/terminated", row, 1, world, 1, &terminated);
      logs[log].read("next/truncated", row, 1, world, 1, &truncated);
      if (terminated == 0 && truncated == 0) continue;
      found.push_back({start, row});
      start = row + 1;
    }
    return found;
  }
  // The picture and the panels show these rows of the two logs, in every world.
  void expect_rows(std::int64_t first, std::int64_t second) {
    SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
    const std::int64_t before = ui.view().selected;
    for (std::int64_t world = 0; world < 2 * kWorlds; ++world) {
      const auto log = static_cast<std::size_t>(world % 2);
      const std::vector<float> logged = observation(log, log == 0 ? first : second, world / 2);
      const std::vector<float> other = observation(1 - log, log == 0 ? second : first, world / 2);
      ui.view().select_world(world);
      ui.pictures(1);
      EXPECT_EQ(ui.view().frames[1].pos[0], logged[0]) << "the cart of world " << world;
      EXPECT_EQ(ui.view().recorder.report().observation, logged) << world;
      EXPECT_EQ(ui.view().partner.report().observation, other) << world;
    }
    ui.view().select_world(before);
    ui.pictures(1);
  }

  static TempFolder* folder;
  const std::array<LogReader, 2> logs = {LogReader(file("one.h5")), LogReader(file("two.h5"))};
  const std::unique_ptr<WorldSource> source;
  UiDriver ui;
};
TempFolder* UiPair::folder = nullptr;

TEST_F(UiPair, WorldsStandBesideEachOtherAtOneTime) {
  EXPECT_EQ(ui.view().grid().count, 2 * kWorlds);
  EXPECT_EQ(source->world_name(6), "3 of one.h5");
  EXPECT_EQ(source->world_name(7), "3 of two.h5");
  expect_rows(0, 0);
  ui.in("Simulation", [](ImGuiTestContext& user) { user.ItemInputValue("History", 77); });
  expect_rows(77, 77);
  ui.press(ImGuiKey_RightArrow, 2);
  expect_rows(79, 79);
  ui.press(ImGuiKey_End);
  EXPECT_EQ(source->position(), 959);
  expect_rows(639, 959);  // the shorter one stands at its end
}

TEST_F(UiPair, OneAloneMeansBoth) {
  ui.view().select_world(5);
  ui.press(ImGuiKey_O);
  EXPECT_EQ(ui.view().grid().first, 4);
  EXPECT_EQ(ui.view().grid().count, 2);
  EXPECT_EQ(ui.view().frames.size(), 3u);
}

TEST_F(UiPair, JumpsGoToTheSameEpisodeOfBoth) {
  ui.pictures(20);  // all of the logs is looked at
  const auto first = episodes(0, 3), second = episodes(1, 3);
  ASSERT_GT(std::min(first.size(), second.size()), 4u);
  ASSERT_NE(first[2], second[2]);
  ui.view().select_world(6);
  ui.press(ImGuiKey_N);
  expect_rows(first[0][1], second[0][1]);
  ui.press(ImGuiKey_N);
  expect_rows(first[1][1], second[1][1]);
  ui.view().select_world(7);  // of the second log
  ui.press(ImGuiKey_N);
  expect_rows(first[2][1], second[2][1]);
  ui.press(ImGuiKey_LeftArrow);
  expect_rows(first[2][1] - 1, second[2][1] - 1);
  ui.press(ImGuiKey_Backspace);
  expect_rows(0, 0);
}

TEST_F(UiPair, TheBestEpisodeIsThatOfBoth) {
  ui.pictures(20);
  std::int64_t best = 0;
  for (std::int64_t world = 0; world < kWorlds; ++world)
    for (std::size_t log = 0; log < 2; ++log)
      for (const auto& [start, end] : episodes(log, world)) best = std::max(best, end - start + 1);
  ui.in("Episodes", [](ImGuiTestContext& user) { user.ItemClick("Best"); });
  const std::int64_t world = ui.view().selected / 2;
  const auto log = static_cast<std::size_t>(ui.view().selected % 2);
  const auto own = episodes(log, world), other = episodes(1 - log, world);
  const auto found = std::find_if(own.begin(), own.end(), [&](const auto& e) { return e[1] - e[0] + 1 == best; });
  ASSERT_NE(found, own.end());
  const auto number = static_cast<std::size_t>(found - own.begin());
  EXPECT_EQ(ui.view().recorder.report().observation, observation(log, (*found)[0], world));
  ASSERT_LT(number, other.size());
  EXPECT_EQ(ui.view().partner.report().observation, observation(1 - log, other[number][0], world));
}

TEST_F(UiPair, PlotsAndTensorsHaveBoth) {
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow, 3);
  const Signal x{Signal::Kind::observation, 0};
  std::vector<double> time, own, other;
  ui.view().recorder.series(x, time, own);
  ui.view().partner.series(x, time, other);
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(own.back(), static_cast<double>(observation(0, 30, 0)[0]));
  EXPECT_EQ(other.back(), static_cast<double>(observation(1, 30, 0)[0]));
  std::vector<std::string> keys;
  for (const WorldSource::TensorInfo& tensor : source->tensors()) keys.push_back(tensor.key);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "one.h5: observation"), 1);
  const std::vector<float> last = source->read_tensor("two.h5: observation", 1);
  ASSERT_EQ(last.size(), static_cast<std::size_t>(4 * kWorlds));
  EXPECT_TRUE(std::equal(last.begin(), last.begin() + 4, observation(1, 30, 0).begin()));
  std::vector<float> all;
  source->read_observations(all);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(2 * 4 * kWorlds));
  EXPECT_EQ(all[4], observation(1, 30, 0)[0]);
}

TEST_F(UiPair, OnlyLogsOfOneTask) {
  const auto refused = [&](const std::string& beside) {
    return error_text([&] { open_source({.what = file("one.h5"), .beside = beside, .device = "cpu"}); });
  };
  EXPECT_EQ(refused(file("one")), file("one") + ": is no trajectory log; two logs can be viewed side by side");
  const TrainConfig other = small_training(
      *folder / "other", {{"task", "MountainCar-v0", ""}, {"total_timesteps", "512", ""}, {"eval_interval", "0", ""}});
  ASSERT_EQ(train_quietly(other, log_to(*folder / "other.h5")), 0);
  EXPECT_EQ(refused(file("other.h5")), file("other.h5") + ": is of MountainCar-v0, and " + file("one.h5") +
                                           " of CartPole-v1: logs side by side are of one task");
}

}  // namespace
}  // namespace hotloop
