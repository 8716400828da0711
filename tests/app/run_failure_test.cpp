// Trainings that cannot start or cannot go on: one line, status 2, and what was there before stays good.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "data/file.h"
#include "sim/core/host_memory.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_disk.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 120;  // [s]

TEST(RunFailure, AFullDiskLosesNothing) {
  const TempFolder folder;
  const fs::path disk_path = folder / "disk", run = disk_path / "run", reference = folder / "reference";
  SmallDisk disk(disk_path, "size=256k");
  if (!disk.failure().empty()) GTEST_SKIP() << "cannot mount a small tmpfs: " << disk.failure();
  const Words more = {"--checkpoint-interval", "2", "--eval-interval", "0", "--hidden-sizes", "32,32"};
  Words arguments = small_run(run, more);
  arguments.insert(arguments.end(), {"--keep-checkpoints", "1000"});
  const ProgramResult full = run_program(arguments, ".", kLimit);
  expect_one_line(full, "No space left on device");
  ASSERT_TRUE(fs::exists(run / "latest.safetensors")) << "the disk was too small for one checkpoint";
  expect_one_line(run_program({"train", "--resume", run.string()}, ".", kLimit), "No space left on device");
  EXPECT_EQ(run_program({"play", run.string(), "--device", "cpu", "--checkpoint", "latest"}, ".", kLimit).status, 0);
  disk.change("size=64m");
  const ProgramResult resumed = run_program({"train", "--resume", run.string()}, ".", kLimit);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const ProgramResult undisturbed = run_program(small_run(reference, more), ".", kLimit);
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
  expect_same_run(reference, run);
}

TEST(RunFailure, ADiskThatIsFullFromTheStartIsLeftAsItWas) {
  const TempFolder folder;
  const fs::path disk_path = folder / "disk", run = disk_path / "deep/run";
  SmallDisk disk(disk_path, "size=16k");
  if (!disk.failure().empty()) GTEST_SKIP() << "cannot mount a small tmpfs: " << disk.failure();
  write_file(disk_path / "theirs", std::string(12 * 1024, 'x'));
  expect_one_line(run_program(small_run(run), ".", kLimit), "No space left on device");
  EXPECT_FALSE(fs::exists(disk_path / "deep"));
  disk.change("size=64m");
  const ProgramResult again = run_program(small_run(run), ".", kLimit);
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST(RunFailure, AFolderThatCannotBeWritten) {
  const TempFolder folder;
  const fs::path sealed = folder / "sealed";
  SmallDisk disk(sealed, "size=1m");
  if (::geteuid() == 0) {
    if (!disk.failure().empty()) GTEST_SKIP() << "root writes everywhere, and cannot mount here: " << disk.failure();
    disk.change("size=1m", MS_RDONLY);
  } else {
    ::chmod(sealed.c_str(), 0555);
  }
  for (const char* run : {"sealed", "sealed/run", "sealed/deep/run"})
    check_bad_input({{"train", "CartPole-v1", "--device", "cpu", "--run-dir", run}, run}, folder.path());
}

TEST(RunFailure, AnExistingRunStaysAsItIs) {
  const TempFolder folder;
  const Words arguments = small_run("run", {"--total-timesteps", "256"});
  ASSERT_EQ(run_program(arguments, folder.path(), kLimit).status, 0);
  check_bad_input({arguments, "run folder 'run' exists; use --resume run or another --run-dir"}, folder.path());
}

TEST(RunFailure, MoreThanTheMemoryNamesWhatWouldFit) {
  constexpr std::uint64_t kLarge = 120'000'000'000;
  if (available_memory() > kLarge) GTEST_SKIP() << "more than 120 GB are free";
  const TempFolder folder;
  const Words large = {"train",    "CartPole-v1", "--device", "cpu",       "--num-envs",
                       "16777216", "--num-steps", "127",      "--run-dir", "run"};
  check_bad_input({large, "environments would fit"}, folder.path());
  check_bad_input({{"train", "CartPole-v1", "--device", "cpu", "--hidden-sizes", "65536,65536", "--num-envs", "8",
                    "--num-steps", "128", "--num-minibatches", "1", "--num-shards", "1024"},
                   "hidden_sizes [65536, 65536]"},
                  folder.path());
  EXPECT_EQ(run_program(small_run("run", {"--total-timesteps", "256"}), folder.path(), kLimit).status, 0)
      << "the folder is free again";
}

TEST(RunFailure, LessThanARolloutIsOneRollout) {
  const TempFolder folder;
  const ProgramResult result = run_program(small_run(folder / "run", {"--total-timesteps", "1"}), ".", kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string rows = read_file(folder / "run/metrics.csv", UINT64_MAX);
  EXPECT_NE(rows.find("\n256,1,"), std::string::npos) << rows;
}

}  // namespace
}  // namespace hotloop
