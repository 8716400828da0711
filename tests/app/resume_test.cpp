// Trainings that are stopped at any moment, in any way, and go on: to the bits of one that was never stopped.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "sim/core/shell.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kLimit = 120;  // [s] of one program; a busy machine is no failure

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    const auto start = Clock::now();
    const ProgramResult result = run_program(small_run(reference_), ".", kLimit);
    ASSERT_EQ(result.status, 0) << result.err;
    duration_ = Seconds(Clock::now() - start).count();
  }

  // Sleeps for a random part of the time that a whole run takes.
  void sleep_random() {
    std::this_thread::sleep_for(Seconds(std::uniform_real_distribution<double>(0, 0.95 * duration_)(random_)));
  }

  // Goes on with `run` to its end. Where no checkpoint was written the program says so, and the run is begun anew.
  void finish(const fs::path& run) {
    ProgramResult result = run_program({"train", "--resume", run.string()}, ".", kLimit);
    if (!fs::exists(run / "latest.safetensors")) {
      expect_no_checkpoint(result, run);
      fs::remove_all(run);
      result = run_program(small_run(run), ".", kLimit);
    }
    ASSERT_EQ(result.status, 0) << result.err;
    expect_same_run(reference_, run);
  }

  static void expect_no_checkpoint(const ProgramResult& result, const fs::path& run) {
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    if (!fs::exists(run / "config.toml")) return;
    EXPECT_EQ(result.err, "hotloop: run folder '" + run.string() +
                              "' holds no checkpoint yet; start the run anew with: " + shell_quoted(HOTLOOP_PROGRAM) +
                              " train " + (run / "config.toml").string() + "\n");
  }

  // A signal's end: the status of any that ends by it, and one line how to go on; before the program listens, without a
  // trace; after its last iteration, that of a run that is done.
  static void expect_stopped(const ProgramResult& result, int signal, const fs::path& run) {
    const std::string hint = "hotloop train --resume " + run.string() + "\n";
    const bool done = result.err.find("done in ") != std::string::npos;
    EXPECT_EQ(result.status, done ? 0 : 128 + signal) << result.err;
    if (!done && !fs::exists(run)) return;
    EXPECT_TRUE(done || result.err.ends_with(hint)) << result.err;
    EXPECT_TRUE(fs::exists(run / "latest.safetensors")) << "a folder that blocks the same command";
  }

  static void wait_for(const fs::path& path) {
    for (const auto start = Clock::now(); !fs::exists(path) && Clock::now() - start < Seconds(kLimit);)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const TempFolder folder_;
  const fs::path reference_ = folder_ / "reference";
  double duration_ = 0;
  std::mt19937 random_{std::random_device{}()};
};

TEST_F(Resume, SameSeedAndItsOwnConfigurationGiveTheSameFiles) {
  const fs::path again = folder_ / "again", from_file = folder_ / "from_file";
  ASSERT_EQ(run_program(small_run(again, {"--num-threads", "1"}), ".", kLimit).status, 0);
  expect_same_run(reference_, again);
  ASSERT_EQ(run_program({"train", (reference_ / "config.toml").string(), "--run-dir", from_file.string()}, ".", kLimit)
                .status,
            0);
  expect_same_run(reference_, from_file);
}

TEST_F(Resume, AfterASignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const fs::path run = folder_ / ("signal_" + std::to_string(random_())).c_str();
    ProgramResult result;
    do {
      Program program(small_run(run));
      sleep_random();
      program.signal(signal);
      result = program.wait(kLimit);
      expect_stopped(result, signal, run);
    } while (!fs::exists(run) && !HasFailure());
    finish(run);
  }
}

TEST_F(Resume, AfterSeveralKills) {
  const fs::path run = folder_ / "run";
  for (int kills = 0; kills < 6; ++kills) {
    const bool started = fs::exists(run / "latest.safetensors");
    if (!started) fs::remove_all(run);
    Program program(started ? std::vector<std::string>{"train", "--resume", run.string()} : small_run(run));
    sleep_random();
    program.signal(SIGKILL);
    const ProgramResult result = program.wait(kLimit);
    EXPECT_TRUE(result.status == 128 + SIGKILL || result.status == 0) << result.status << result.err;
  }
  finish(run);
}

// What a training has learnt outlives its folder: it is saved in a new one, from which it goes on.
TEST_F(Resume, AfterItsFolderWasRemoved) {
  const fs::path run = folder_ / "run";
  Program program({"train", "CartPole-v1", "--total-timesteps", "1e9", "--num-envs", "8", "--num-steps", "16",
                   "--checkpoint-interval", "50", "--eval-interval", "0", "--run-dir", run.string()});
  wait_for(run / "latest.safetensors");
  fs::rename(run, folder_ / "moved");
  wait_for(run / "latest.safetensors");
  program.signal(SIGINT);
  const ProgramResult result = program.wait(kLimit);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_NE(result.err.find("run folder '" + run.string() + "' was removed while the training ran"), std::string::npos)
      << result.err;
  EXPECT_TRUE(fs::exists(run / "machine.json"));
  EXPECT_TRUE(fs::exists(run / "metrics.csv"));
  Program again({"train", "--resume", run.string()});
  std::this_thread::sleep_for(Seconds(0.5));
  again.signal(SIGINT);
  const ProgramResult resumed = again.wait(kLimit);
  EXPECT_EQ(resumed.status, 130) << resumed.err;
}

TEST_F(Resume, ASignalBeforeTheFirstIteration) {
  const fs::path run = folder_ / "run";
  Program program(small_run(run));
  wait_for(run);
  program.signal(SIGTERM);
  const ProgramResult result = program.wait(kLimit);
  EXPECT_EQ(result.status, 128 + SIGTERM);
  expect_stopped(result, SIGTERM, run);
  finish(run);
}

TEST_F(Resume, ASecondControlCEndsAtOnce) {
  const fs::path run = folder_ / "run";
  // an iteration of minutes
  Program program(small_run(run, {"--update-epochs", "10000", "--num-steps", "1024", "--total-timesteps", "81920"}));
  wait_for(run / "machine.json");  // written last before the first iteration
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto start = Clock::now();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(kLimit).status, 128 + SIGINT);
  EXPECT_LT(Seconds(Clock::now() - start).count(), 10);
  expect_no_checkpoint(run_program({"train", "--resume", run.string()}, ".", kLimit), run);
}

}  // namespace
}  // namespace hotloop
