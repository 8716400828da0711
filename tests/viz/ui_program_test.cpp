// The program itself under an X server: it opens its window, keys and the window's frame reach it from outside, and its
// exit status is right.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_opened.h"
#include "tests/viz/ui_x11.h"
#include "viz/png.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 100;  // a busy machine is no failure

class UiProgram : public testing::Test {
 protected:
  UiProgram() { ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1); }  // where layouts go

  unsigned long open(const std::vector<std::string>& arguments, const char* title) {
    program.emplace(arguments, folder.path(), title);
    return program->window();
  }
  ProgramResult end() { return program->end(); }
  // Pictures that were saved by the key P, waited for.
  fs::path picture(const char* task) {
    for (int i = 0; i < 600; ++i) {
      for (const auto& entry : fs::directory_iterator(folder.path()))
        if (entry.path().filename().string().starts_with(task) && entry.path().extension() == ".png")
          return entry.path();
      ::usleep(50'000);
    }
    return {};
  }

  const TempFolder folder;
  std::optional<OpenedProgram> program;
};

TEST_F(UiProgram, RefusesOptionsWithoutEffect) {
  const std::string model = HOTLOOP_SOURCE_DIR "/assets/mjcf/reacher.xml";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"CartPole-v1", "--actions", "policy"}, "--actions policy: needs a policy: view a run or a checkpoint"},
      {{"CartPole-v1", "--stochastic"}, "--stochastic: needs a policy: view a run or a checkpoint"},
      {{"CartPole-v1", "--headless", "--out", "o", "--paused"}, "--paused is for the window, not for --headless"},
      {{"CartPole-v1", "--headless", "--out", "o", "--no-layout"}, "--no-layout is for the window, not for --headless"},
      {{model, "--task", "Ant-v5"}, "--task: is for policies of CleanRL and Stable-Baselines3"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = {"view"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_program(all, folder.path(), kSeconds);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "hotloop: view: " + message + "\n");
  }
}

TEST_F(UiProgram, ViewSavesAPictureAndQuits) {
  const unsigned long window = open(
      {"view", "CartPole-v1", "--worlds", "4", "--device", "cpu", "--width", "640", "--height", "480", "--no-layout"},
      "CartPole-v1 - hotloop");
  press_key(window, 'p');
  const fs::path file = picture("CartPole-v1");
  ASSERT_FALSE(file.empty());
  press_key(window, 'q', true);
  const ProgramResult result = end();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Picture seen = read_png(file);
  const auto [low, high] = std::minmax_element(seen.rgb.begin(), seen.rgb.end());
  EXPECT_GT(*high - *low, 50) << "nothing in the picture";
}

TEST_F(UiProgram, AClosedWindowAndASignalEndAView) {
  close_window(open({"view", "Pendulum-v1", "--device", "cpu"}, "Pendulum-v1 - hotloop"));
  ProgramResult result = end();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder / "hotloop" / "viewer.ini")) << "the layout is kept";
  open({"view", "Pendulum-v1", "--device", "cpu"}, "Pendulum-v1 - hotloop");
  program->signal(SIGINT);
  result = end();
  EXPECT_EQ(result.status, 130) << result.err;
}

TEST_F(UiProgram, ATrainingOutlivesItsWindow) {
  const std::vector<std::string> longer = {"--total-timesteps",     "409600", "--eval-interval", "400",
                                           "--checkpoint-interval", "400"};
  std::vector<std::string> watched = small_run(folder / "watched", longer);
  watched.emplace_back("--watch");
  const unsigned long window = open(watched, "CartPole-v1 - hotloop");
  press_key(window, 'v');
  press_key(window, 'v');
  close_window(window);
  const ProgramResult result = end();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("the window is closed, the training goes on"), std::string::npos) << result.err;
  const ProgramResult alone = run_program(small_run(folder / "alone", longer), folder.path(), kSeconds);
  ASSERT_EQ(alone.status, 0) << alone.err;
  expect_same_run(folder / "alone", folder / "watched");
}

TEST_F(UiProgram, AFinishedTrainingSaysSo) {
  std::vector<std::string> watched = small_run(folder / "watched");
  watched.emplace_back("--watch");
  const unsigned long window = open(watched, "training finished: close the window to end - CartPole-v1 - hotloop");
  close_window(window);
  const ProgramResult result = end();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "training finished: close the window to end\n");
}

}  // namespace
}  // namespace hotloop
