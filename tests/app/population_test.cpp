// Populations through the program: members as of single runs to the bit, also after a kill; and what is refused.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "sim/core/device.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 240;  // [s] of one program; a busy machine is no failure

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void run(const std::vector<std::string>& arguments) {
  const ProgramResult result = run_program(arguments, ".", kLimit);
  ASSERT_EQ(result.status, 0) << result.err;
}

TEST(Population, MembersEqualSingleRuns) {
  const TempFolder folder;
  const fs::path population = folder / "population";
  run(small_run(population, {"--num-seeds", "3", "--seed", "5"}));
  for (const int k : {0, 1, 2}) {
    const fs::path alone = folder.path() / std::to_string(k);
    run(small_run(alone, {"--seed", std::to_string(5 + k)}));
    expect_same_run(alone, population / "members" / ("000" + std::to_string(k)));
  }
  const std::vector<std::string> lines = lines_of(population / "members.csv");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "member,seed,episodic_return,eval_return,best_eval_return,steps_to_threshold");
  EXPECT_TRUE(lines[2].starts_with("0001,6,")) << lines[2];
  run({"play", (population / "best").string(), "--episodes", "2"});
  run({"train", "--resume", (population / "members" / "0001").string(), "--total-timesteps", "16000"});
}

TEST(Population, SweptMembersEqualRunsConfiguredSo) {
  const TempFolder folder;
  const fs::path population = folder / "population", sweep = folder / "sweep.toml", alone = folder / "alone";
  write_text(sweep, "method = \"zip\"\n[parameters]\nlr = [1e-3, 2e-3]\ngamma = {values = [0.9, 0.95]}\n");
  run(small_run(population, {"--num-seeds", "2", "--sweep", sweep.string()}));
  run(small_run(alone, {"--seed", "4", "--learning-rate", "2e-3", "--gamma", "0.95"}));
  expect_same_run(alone, population / "members" / "0003");
  const std::vector<std::string> lines = lines_of(population / "members.csv");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_TRUE(lines[0].starts_with("member,seed,learning_rate,gamma,")) << lines[0];
  EXPECT_TRUE(lines[4].starts_with("0003,4,0.002,0.95,")) << lines[4];
  EXPECT_EQ(text_of(population / "sweep.toml"), text_of(sweep));
}

TEST(Population, GoesOnAfterKills) {
  const TempFolder folder;
  const fs::path whole = folder / "whole", killed = folder / "killed";
  const auto start = std::chrono::steady_clock::now();
  run(small_run(whole, {"--num-seeds", "4"}));
  const auto all = std::chrono::steady_clock::now() - start;
  std::vector<std::string> next = small_run(killed, {"--num-seeds", "4"});
  for (const double part : {0.4, 0.2, 0.6}) {
    Program program(next);
    std::this_thread::sleep_for(part * all);
    program.signal(part == 0.2 ? SIGTERM : SIGKILL);
    program.wait(kLimit);
    if (fs::exists(killed / "population.toml")) next = {"train", "--resume", killed.string()};
  }
  run(next);
  for (const char* member : {"0000", "0001", "0002", "0003"})
    expect_same_run(whole / "members" / member, killed / "members" / member);
  EXPECT_EQ(text_of(whole / "members.csv"), text_of(killed / "members.csv"));
}

void wait_for(const fs::path& path) {
  for (int tries = 0; tries < 6000 && !fs::exists(path); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(fs::exists(path));
}

// A member that is trained when its folder goes is saved in a new one; one that is done has no scores.
TEST(Population, MembersWhoseFoldersAreRemoved) {
  const TempFolder folder;
  const fs::path population = folder / "population", members = population / "members";
  Program program(small_run(population, {"--num-seeds", "2", "--num-threads", "1", "--checkpoint-interval", "100000",
                                         "--eval-interval", "100000", "--total-timesteps", "200000"}));
  wait_for(members / "0001" / "metrics.csv");
  fs::remove_all(members / "0000");
  fs::rename(members / "0001", folder / "moved");
  const ProgramResult result = program.wait(kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  const auto says = [&](const std::string& words) { return result.err.find(words) != std::string::npos; };
  EXPECT_TRUE(says("0001' was removed while the training ran: made again")) << result.err;
  EXPECT_TRUE(says("0000' was removed: it has no scores")) << result.err;
  const std::vector<std::string> lines = lines_of(population / "members.csv");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "0000,3,,,,");
  EXPECT_TRUE(lines[2].starts_with("0001,4,")) << lines[2];
  EXPECT_EQ(fs::read_symlink(population / "best"), fs::path("members/0001"));
  EXPECT_TRUE(fs::exists(population / "best" / "latest.safetensors"));
}

// In the same kernels.
TEST(GpuPopulation, AMemberWhoseFolderIsRemovedGoesOn) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const TempFolder folder;
  const fs::path population = folder / "population", member = population / "members" / "0001";
  // seldom written, so that no writing is under way when the folder goes
  Program program(
      small_run(population, {"--num-seeds", "3", "--device", "cuda", "--total-timesteps", "1e10",
                             "--checkpoint-interval", "3000", "--eval-interval", "0", "--log-interval", "100000"}));
  wait_for(member / "latest.safetensors");
  fs::rename(member, folder / "moved");
  wait_for(member / "latest.safetensors");
  program.signal(SIGINT);
  const ProgramResult result = program.wait(kLimit);
  EXPECT_EQ(result.status, 128 + SIGINT) << result.err;
  EXPECT_NE(result.err.find("0001' was removed while the training ran: made again"), std::string::npos) << result.err;
  Program again({"train", "--resume", population.string()});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  again.signal(SIGINT);
  EXPECT_EQ(again.wait(kLimit).status, 128 + SIGINT);
}

TEST(Population, RefusesWhatMakesNoSense) {
  const TempFolder folder;
  const auto with_sweep = [&](const std::string& toml, const std::string& mentions) {
    check_bad_input({{"train", "CartPole-v1", "--sweep", "case.toml"}, mentions, toml}, folder.path());
  };
  const auto with_flags = [&](std::vector<std::string> flags, const std::string& mentions) {
    flags.insert(flags.begin(), {"train", "CartPole-v1"});
    check_bad_input({flags, mentions}, folder.path());
  };
  with_flags({"--num-seeds", "0"}, "--num-seeds 0: must be an integer in [1, 1000000]");
  with_flags({"--num-seeds", "many"}, "--num-seeds many");
  with_flags({"--num-seeds", "2", "--road", "generic"}, "--num-seeds: needs the fused road, road is generic");
  with_flags({"--num-seeds", "2", "--precision", "bf16", "--device", "cpu"}, "precision bf16");
  with_flags({"--num-seeds", "2", "--log-trajectories", "log.h5"}, "--log-trajectories");
  with_flags({"--sweep", "none.toml"}, "none.toml");
  with_sweep("method = \"best\"\n", "case.toml:1: method = best: must be grid, zip or random");
  with_sweep("lr = [1e-3]\n", "case.toml:1: lr: unknown key");
  with_sweep("method = \"grid\"\n", "[parameters] is missing");
  with_sweep("[parameters]\nlearning_rates = [1e-3]\n", "case.toml:2: unknown key learning_rates (did you mean");
  with_sweep("[parameters]\nnum_envs = [4, 8]\n", "case.toml:2: key num_envs; members may differ in learning_rate");
  with_sweep("[parameters]\nlr = [1e-3]\nlearning_rate = [1e-3]\n", "learning_rate =: set twice");
  with_sweep("[parameters]\nlr = [1e-3, 11]\n", "case.toml:2: learning_rate = 11");
  with_sweep("[parameters]\nlr = []\n", "must be a list of values");
  with_sweep("[parameters]\nlr = {min = 1e-4, max = 1e-2}\n", "a range is of method random");
  with_sweep("method = \"random\"\n[parameters]\nlr = {min = 1e-4, max = 1e-2}\n", "count is missing");
  with_sweep("method = \"random\"\ncount = 2\n[parameters]\nlr = {min = 0, max = 1e-2, log = true}\n", "above 0");
  with_sweep("method = \"random\"\ncount = 2\n[parameters]\nlr = {min = 1e-2, max = 1e-3}\n",
             "min must be at most max");
  with_sweep("method = \"zip\"\n[parameters]\nlr = [1e-3, 2e-3]\ngamma = [0.9]\n",
             "gamma = 1 values: method zip takes lists of one length, learning_rate has 2");
}

}  // namespace
}  // namespace hotloop
