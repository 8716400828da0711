// What may become of a log: it is still being written, it is damaged, or it changes while one looks.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "data/file.h"
#include "sim/core/error.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "tests/viz/ui_driver.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 120;  // a busy machine is no failure

fs::path make_log(const TempFolder& folder, int gzip = 0) {
  LogOptions log = log_to(folder / "log.h5");
  log.gzip = gzip;
  EXPECT_EQ(train_quietly(small_training(folder / "run"), log), 0);
  return folder / "log.h5";
}

// The program without a window: fails where the log cannot be shown.
ProgramResult view(const fs::path& log, const TempFolder& folder) {
  return run_program(
      {"view", log.string(), "--device", "cpu", "--headless", "--out", "pictures", "--width", "64", "--height", "48"},
      folder.path(), kSeconds);
}

void expect_refused(const ProgramResult& result, const std::string& reason) {
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(reason), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(UiLostLog, OneThatIsBeingWritten) {
  const TempFolder folder;
  Program training(
      small_run(folder / "run", {"--total-timesteps", "1000000000", "--eval-interval", "0", "--checkpoint-interval",
                                 "0", "--log-trajectories", folder / "log.h5", "--log-keys", "all,state"}),
      folder.path());
  for (int i = 0; i < 1000 && !fs::exists(folder / "log.h5.part"); ++i) ::usleep(20'000);
  expect_refused(view(folder / "log.h5", folder), "log.h5.part: ");
  expect_refused(view(folder / "log.h5.part", folder), "another program is writing it");
  training.signal(SIGTERM);
  EXPECT_EQ(training.wait(kSeconds).status, 143) << "looking has not disturbed it";
  const ProgramResult after = view(folder / "log.h5", folder);
  EXPECT_EQ(after.status, 0) << after.err;
  EXPECT_TRUE(fs::exists(folder / "pictures" / "frame_000000.png"));
}

TEST(UiLostLog, OneThatIsDamagedOrCutShort) {
  const TempFolder folder;
  const fs::path log = make_log(folder, 6);
  const std::string whole = read_file(log, UINT64_MAX);
  std::string damaged = whole;
  damaged.replace(whole.size() / 2, whole.size() / 8, std::string(whole.size() / 8, '\xaa'));
  write_file(log, damaged);
  expect_refused(view(log, folder), "log.h5");
  write_file(log, whole.substr(0, whole.size() / 2));
  expect_refused(view(log, folder), "log.h5");
  write_file(log, whole);
  EXPECT_EQ(view(log, folder).status, 0);
}

TEST(UiLostLog, OneThatIsDeletedGoesOn) {
  const TempFolder folder;
  const fs::path log = make_log(folder);
  const std::unique_ptr<WorldSource> source = open_source({.what = log.string(), .device = "cpu"});
  UiDriver ui(*source, UiDriver::paused_window());
  ui.pictures(2);
  fs::remove(log);
  source->seek(1000);
  ui.pictures(3);
  std::vector<float> observations;
  source->read_observations(observations);
  EXPECT_EQ(ui.view().frames[1].pos[0], observations[0]);
}

TEST(UiLostLog, OneThatIsCutWhileOneLooksIsALine) {
  const TempFolder folder;
  const fs::path log = make_log(folder);
  const std::unique_ptr<WorldSource> source = open_source({.what = log.string(), .device = "cpu"});
  shared_display();
  Viewer viewer(*source, UiDriver::paused_window());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(viewer.picture());
  fs::resize_file(log, fs::file_size(log) / 4);
  viewer.view().pacer.seek(1700);
  const std::string text = error_text([&] {
    for (int i = 0; i < 3; ++i) viewer.picture();
  });
  EXPECT_TRUE(text.ends_with("log.h5: was cut short while it was read")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace hotloop
