// Options that must not be ignored or changed without a word, and messages that name what they are about.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 120;  // [s]

Words random(const std::string& format, const std::string& output, const Words& more = {}) {
  Words words = {"record", "CartPole-v1", "--random", "--episodes", "2", "--format", format, "-o", output};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Option, AnAuthorIsOneNameAndTheRunMayFollow) {
  const TempFolder folder;
  const ProgramResult result =
      run_program({"record", "--author", "A", "--author", "B", "--author-email", "a@b", "CartPole-v1", "--random",
                   "--format", "d4rl", "-o", "x.h5", "--episodes", "1", "--quiet"},
                  folder.path(), kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "x.h5"));
}

TEST(Option, OfRecordNoneIsIgnoredOrChanged) {
  const TempFolder folder;
  for (const char* format : {"tensordict", "minari"})
    ASSERT_EQ(run_program(random(format, format, {"--quiet"}), folder.path(), kLimit).status, 0);
  ASSERT_EQ(run_program(small_run(folder / "run", {"--total-timesteps", "512"}), ".", kLimit).status, 0);
  const std::string minari = "minari/hotloop/cartpole-v1/random-v0", file = "run/latest.safetensors";
  const std::vector<BadInput> cases = {
      {{"record", file, "--checkpoint", "best", "--episodes", "1", "--format", "d4rl", "-o", "x"},
       "--checkpoint best: chooses in a run folder, and run/latest.safetensors is a file"},
      {{"play", file, "--checkpoint", "latest"}, "--checkpoint latest: chooses in a run folder"},
      {random("minari", "x", {"--dataset-id", ""}), "--dataset-id '': must not be empty"},
      {random("minari", "x", {"--dataset-id="}), "--dataset-id '': must not be empty"},
      {random("d4rl", "x/"), "-o x/: names a folder, and d4rl is a file"},
      {random("robomimic", "x/"), "-o x/: names a folder, and robomimic is a file"},
      {random("d4rl", "x", {"--author", "A\xff"}), "--author A\\xff: must be text in UTF-8"},
      {random("d4rl", "x", {"--author-email", "\xc3"}), "--author-email \\xc3: must be text in UTF-8"},
      {random("d4rl", "x", {"--description", "\xed\xa0\x80"}), "must be text in UTF-8"},
      {random("d4rl", "tensordict/x"), "/tensordict/x' lies in a dataset, '"},
      {random("tensordict", "tensordict/next/x"), "/tensordict/next/x' lies in a dataset, '"},
      {random("minari", minari), "/minari/hotloop/cartpole-v1/random-v0'"},
      {random("d4rl", minari + "/data/x"), "/random-v0/data/x' lies in a dataset, '"},
      {{"repair", minari, "-o", "tensordict/x"}, "/tensordict/x' lies in a dataset, '"},
  };
  for (const BadInput& bad : cases) check_bad_input(bad, folder.path());
}

TEST(Option, WhatIsNoDatasetIsSaid) {
  const TempFolder folder;
  ASSERT_EQ(
      run_program(random("minari", "sets", {"--dataset-id", "ab/one-v0", "--quiet"}), folder.path(), kLimit).status, 0);
  ASSERT_EQ(run_program(random("minari", "sets", {"--dataset-id", "two-v0", "--quiet"}), folder.path(), kLimit).status,
            0);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const char* command : {"inspect", "repair"}) {
    Words sets = {command, "sets"};
    if (sets[0] == "repair") sets.insert(sets.end(), {"-o", "new"});
    check_bad_input({sets, "sets: holds minari datasets; name one: sets/ab/one-v0, sets/two-v0"}, folder.path());
  }
  check_bad_input({{"inspect", "/dev/null"}, "/dev/null: is neither a file nor a folder"}, folder.path());
  check_bad_input({{"inspect", "pipe"}, "pipe: is neither a file nor a folder"}, folder.path());
  const std::string longest(9000, 'x');
  for (const Words& words : {Words{"inspect", longest}, Words{"replay", longest}, random("d4rl", longest)}) {
    check_bad_input({words, "xxx"}, folder.path());
    EXPECT_LT(run_program(words, folder.path(), kLimit).err.size(), 2100u) << words[0];
  }
}

}  // namespace
}  // namespace hotloop
