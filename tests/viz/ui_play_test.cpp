// What `play` shows: a film of the first episode, and the window.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "data/log/log_reader.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_opened.h"
#include "tests/viz/ui_x11.h"
#include "viz/png.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 100;  // a busy machine is no failure

class UiPlay : public testing::Test {
 protected:
  UiPlay() { EXPECT_EQ(train_quietly(small_training(folder / "run", {{"total_timesteps", "512", ""}})), 0); }
  const TempFolder folder;
};

TEST_F(UiPlay, FilmsTheFirstEpisode) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);  // no ffmpeg
  const ProgramResult result = run_program({"play", "run", "--episodes", "3", "--device", "cpu", "--seed", "5",
                                            "--video", "film.mp4", "--log-trajectories", "played.h5"},
                                           folder.path(), kSeconds);
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("3 episodes"), std::string::npos) << result.out;
  const LogReader log(folder / "played.h5");
  std::int64_t length = 0;
  for (std::uint8_t ended = 0; ended == 0; ++length) log.read("next/terminated", length, 1, 0, 1, &ended);
  const auto is_picture = [](const fs::directory_entry& e) { return e.path().extension() == ".png"; };
  EXPECT_EQ(std::count_if(fs::directory_iterator(folder / "film_frames"), {}, is_picture), length);
  EXPECT_NE(result.err.find("ffmpeg is not on PATH: frames as PNG files in 'film_frames' instead"), std::string::npos)
      << result.err;
  const std::string said = "film_frames: the first episode, return " + std::to_string(length) + ".00 in " +
                           std::to_string(length) + " steps\n";
  EXPECT_NE(result.err.find(said), std::string::npos) << result.err << said;
}

TEST_F(UiPlay, OpensTheWindow) {
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  OpenedProgram program({"play", "run", "--episodes", "3", "--device", "cpu", "--view"}, folder.path(),
                        "CartPole-v1 - hotloop");
  close_window(program.window());
  const ProgramResult result = program.end();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("3 episodes"), std::string::npos) << result.out;
}

TEST_F(UiPlay, FilmsInTheQualityAskedFor) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);  // no ffmpeg
  for (const char* quality : {"low", "high"}) {
    const ProgramResult result = run_program({"play", "run", "--episodes", "1", "--device", "cpu", "--video",
                                              std::string(quality) + ".mp4", "--quality", quality},
                                             folder.path(), kSeconds);
    EXPECT_EQ(result.status, 0) << result.err;
  }
  ::setenv("PATH", before.c_str(), 1);
  const Picture low = read_png(folder / "low_frames/frame_000000.png");
  const Picture high = read_png(folder / "high_frames/frame_000000.png");
  EXPECT_NE(low.rgb, high.rgb);
}

TEST_F(UiPlay, RefusesAQualityOfNothing) {
  const ProgramResult result = run_program({"play", "run", "--quality", "low"}, folder.path(), kSeconds);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "hotloop: play: --quality is for --video and --view\n");
  const ProgramResult bad = run_program({"play", "run", "--view", "--quality", "best"}, folder.path(), kSeconds);
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("--quality"), std::string::npos) << bad.err;
}

TEST_F(UiPlay, RefusesAFilmWithoutItsEnding) {
  const ProgramResult result = run_program({"play", "run", "--video", "film"}, folder.path(), kSeconds);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "hotloop: video 'film': must end in .mp4, .mov, .mkv, .webm or .gif\n");
  EXPECT_EQ(result.out, "") << "before anything is played";
}

}  // namespace
}  // namespace hotloop
