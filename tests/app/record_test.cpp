// `hotloop record`: each format opens in its own loader with the simulator's bits; counts, order, ends of episodes,
// resumption, and what goes wrong.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/dataset/spool.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "sim/core/registry.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/reference_episodes.h"
#include "tests/app/small_disk.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"
#include "train/config.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 120;  // [s]

Words record(const std::string& target, const std::string& format, const fs::path& output, Words more) {
  Words words = {"record", target, "--format", format, "-o", output.string(), "--device", "cpu"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_success(const ProgramResult& result) { ASSERT_EQ(result.status, 0) << result.err; }

// CartPole's random episodes end by falling, Pendulum's by the time limit; discrete and box actions; one episode alone;
// the terms of the reward.
TEST(Record, EveryFormatOpensInItsLoaderWithTheSimulatorsBits) {
  const TempFolder folder;
  std::vector<DatasetToCheck> datasets;
  for (const auto& [task, count] :
       {std::pair("CartPole-v1", 12), std::pair("Pendulum-v1", 1), std::pair("Hopper-v5", 5)}) {
    const fs::path expected = folder.path() / (std::string(task) + ".safetensors");
    write_expected(expected, task, random_episodes(task, count, 7));
    for (const std::string& format : kDatasetFormats) {
      const fs::path dataset = folder.path() / (format + "_" + task);
      expect_success(
          run_program(record(task, format, dataset, {"--random", "--episodes", std::to_string(count), "--seed", "7"}),
                      ".", kLimit));
      datasets.push_back({format, dataset, expected, task});
    }
  }
  const int status = check_datasets(datasets, folder / "log");
  const std::string log = read_file(folder / "log", UINT64_MAX);
  if (status == 77 && !must_have_python()) GTEST_SKIP() << test_python() << ": " << log;
  EXPECT_EQ(status, 0) << log;
}

nlohmann::json metadata(const fs::path& root, const std::string& id) {
  return nlohmann::json::parse(read_file(root / id / "data/metadata.json", UINT64_MAX));
}

TEST(Record, APolicysEpisodesAreThoseOfPlay) {
  const TempFolder folder;
  const std::string run = (folder / "run").string();
  expect_success(run_program(small_run(run), ".", kLimit));
  expect_success(run_program(record(run, "minari", folder / "sets", {"--episodes", "20", "--seed", "9"}), ".", kLimit));
  const ProgramResult played =
      run_program({"play", run, "--device", "cpu", "--episodes", "20", "--seed", "9", "--json"}, ".", kLimit);
  expect_success(played);
  const auto about = metadata(folder / "sets", "hotloop/cartpole-v1/ppo-v0");
  EXPECT_EQ(about["total_episodes"], 20);
  EXPECT_EQ(about["total_steps"].get<double>(), 20 * nlohmann::json::parse(played.out)["length_mean"].get<double>());
  EXPECT_EQ(about["algorithm_name"], "ppo");
}

TEST(Record, StepsAreWholeEpisodesUntilThereAreEnough) {
  const TempFolder folder;
  expect_success(
      run_program(record("Pendulum-v1", "minari", folder.path(), {"--random", "--steps", "401"}), ".", kLimit));
  const ProgramResult one =
      run_program(record("Pendulum-v1", "d4rl", folder / "one", {"--random", "--steps", "1"}), ".", kLimit);
  EXPECT_NE(one.err.find("1 episode, 200 steps of Pendulum-v1"), std::string::npos) << one.err;
  const auto about = metadata(folder.path(), "hotloop/pendulum-v1/random-v0");
  EXPECT_EQ(about["total_episodes"], 3);
  EXPECT_EQ(about["total_steps"], 600);
}

TEST(Record, MetadataIsWhatWasGiven) {
  const TempFolder folder;
  expect_success(run_program(record("Pendulum-v1", "minari", folder.path(),
                                    {"--random", "--episodes", "2", "--dataset-id", "lab/swing-v3", "--author", "A B",
                                     "--author-email", "a@b.c", "--author", "C D", "--description", "two swings",
                                     "--ref-min-score", "-1200", "--ref-max-score=-150"}),
                             ".", kLimit));
  const auto about = metadata(folder.path(), "lab/swing-v3");
  EXPECT_EQ(about["dataset_id"], "lab/swing-v3");
  EXPECT_EQ(about["author"], nlohmann::json({"A B", "C D"}));
  EXPECT_EQ(about["author_email"], nlohmann::json({"a@b.c"}));
  EXPECT_EQ(about["description"], "two swings");
  EXPECT_EQ(about["ref_min_score"], -1200.0);
  EXPECT_EQ(about["ref_max_score"], -150.0);
  EXPECT_EQ(about["num_episodes_average_score"], 100);
}

// Contents of every file below a folder, by name.
std::map<std::string, std::string> contents(const fs::path& at) {
  std::map<std::string, std::string> found;
  if (fs::is_regular_file(at)) return {{"", read_file(at, UINT64_MAX)}};
  for (const auto& entry : fs::recursive_directory_iterator(at))
    if (entry.is_regular_file()) found[fs::relative(entry.path(), at).string()] = read_file(entry.path(), UINT64_MAX);
  return found;
}

TEST(Record, ResumesAfterKillToTheSameBits) {
  const TempFolder folder;
  const auto words = [&](const char* name) {
    return record("Acrobot-v1", "tensordict", folder / name,
                  {"--random", "--episodes", "3000", "--num-envs", "64", "--quiet"});
  };
  expect_success(run_program(words("whole"), ".", kLimit));
  const fs::path spool = folder / ".cut.recording";
  const auto holds_episodes = [&] {
    std::error_code none;
    const std::uintmax_t bytes = fs::file_size(spool / "episodes.bin", none);
    return !none && bytes > 0;
  };
  int kills = 0;
  // on a busy machine the first ones come before anything is recorded
  for (int delay = 5000; delay < 10000000 && (kills < 6 || !holds_episodes()) && !fs::exists(folder / "cut");
       delay *= 2) {
    Words again = words("cut");
    if (fs::exists(spool)) again.push_back("--resume");
    Program program(again);
    ::usleep(static_cast<useconds_t>(delay));
    program.signal(SIGKILL);
    kills += program.wait(kLimit).status == 128 + SIGKILL;
  }
  EXPECT_GT(kills, 0);
  if (!fs::exists(folder / "cut")) {
    ASSERT_TRUE(fs::exists(spool));
    check_bad_input({words("cut"), "interrupted recording of"}, folder.path());
    Words other = words("cut");
    other.insert(other.end(), {"--resume", "--seed", "5"});
    check_bad_input({other, "was made with seed 1, now 5"}, folder.path());
    Words again = words("cut");
    again.push_back("--resume");
    expect_success(run_program(again, ".", kLimit));
  }
  EXPECT_FALSE(fs::exists(spool));
  EXPECT_TRUE(contents(folder / "whole") == contents(folder / "cut"));
}

// While a recording that would take hours is at work.
TEST(Record, ASecondProcessIsToldAndASignalSaysWhatIsKept) {
  const TempFolder folder;
  const Words words = record("Pendulum-v1", "d4rl", "set", {"--random", "--episodes", "100000000", "--quiet"});
  Words again = words;
  again.push_back("--resume");
  const fs::path spool = folder / ".set.recording";
  for (const auto& [number, resumed] : {std::pair(SIGINT, false), std::pair(SIGTERM, true)}) {
    Program program(resumed ? again : words, folder.path());
    const auto recorded = [&] {
      return fs::exists(spool / "episodes.bin") ? fs::file_size(spool / "episodes.bin") : 0;
    };
    const std::uintmax_t before = recorded();
    for (int tries = 0; tries < 600 && recorded() == before; ++tries) ::usleep(100000);
    ASSERT_GT(recorded(), before);
    for (const Words& second : {words, again}) {
      const ProgramResult told = run_program(second, folder.path(), kLimit);
      EXPECT_EQ(told.status, 2);
      EXPECT_NE(told.err.find("set': another process is writing it\n"), std::string::npos) << told.err;
    }
    program.signal(number);
    const ProgramResult stopped = program.wait(kLimit);
    EXPECT_EQ(stopped.status, 128 + number);
    EXPECT_TRUE(stopped.err.starts_with("stopped; kept: ")) << stopped.err;
    EXPECT_TRUE(stopped.err.ends_with("whole episodes; go on by the same command with --resume\n")) << stopped.err;
    EXPECT_EQ(std::count(stopped.err.begin(), stopped.err.end(), '\n'), 1) << stopped.err;
  }
  check_bad_input({words, "go on by the same command with --resume, or to record anew, remove the folder"},
                  folder.path());
  const std::string recording = read_file(spool / "recording.json", UINT64_MAX);
  for (const char* name : {"recording.json", "episodes.bin"}) {  // begun anew, the episodes would be lost
    fs::rename(spool / name, folder / name);
    Words other = again;
    if (std::string(name) == "recording.json") other.insert(other.end(), {"--seed", "5"});
    check_bad_input({other, "set' is damaged; to record anew, remove the folder"}, folder.path());
    fs::rename(folder / name, spool / name);
  }
  write_file(spool / "recording.json", "");
  check_bad_input({words, "go on by the same command with --resume"}, folder.path());
  {
    Program program(again, folder.path());
    for (int tries = 0; tries < 600 && read_file(spool / "recording.json", UINT64_MAX).empty(); ++tries)
      ::usleep(100000);
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(kLimit).status, 128 + SIGINT);
  }
  EXPECT_EQ(read_file(spool / "recording.json", UINT64_MAX), recording);
  write_file(spool / "recording.json", "[1");
  check_bad_input({again, "set' is damaged; to record anew, remove the folder"}, folder.path());
}

TEST(Record, OneThatAnEarlierVersionHasBegunIsToldAsSuch) {
  const TempFolder folder;
  const fs::path spool = folder / ".set.recording";
  EpisodeSpool::create(spool, "{}", find_environment("CartPole-v1").spec);
  for (const char* name : {"progress.bin", "reward_terms.bin"}) fs::remove(spool / name);
  Words words = record("CartPole-v1", "d4rl", "set", {"--random", "--episodes", "3"});
  for (int resumed = 0; resumed < 2; ++resumed) {
    check_bad_input({words,
                     "set' was begun by an earlier version of hotloop; finish it with that, or to record anew, remove "
                     "the folder"},
                    folder.path());
    words.push_back("--resume");
  }
}

TEST(Record, BadInput) {
  const TempFolder folder;
  fs::create_directory(folder / "empty_run");
  write_file(folder / "file", "text\n");
  const auto random = [](Words more) {
    Words words = {"record", "CartPole-v1", "--random", "--format", "d4rl"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<BadInput> cases = {
      {{"record"}, "name a run folder"},
      {{"record", "CartPole-v1", "--random", "--episodes", "1", "-o", "x"}, "--format is missing: one of minari, d4rl"},
      {{"record", "CartPole-v1", "--format", "d4rl", "--episodes", "1", "-o", "x"},
       "CartPole-v1 is a task; add --random"},
      {{"record", "CartPole-v3", "--format", "d4rl", "--episodes", "1", "-o", "x"}, "no run or checkpoint"},
      {{"record", "CartPole-v2", "--random", "--format", "d4rl", "--episodes", "1", "-o", "x"}, "CartPole-v1"},
      {{"record", "empty_run", "--format", "d4rl", "--episodes", "1", "-o", "x"}, "holds no best.safetensors"},
      {{"record", "file", "--format", "d4rl", "--episodes", "1", "-o", "x"}, "file"},
      {{"record", "CartPole-v1", "--random", "--format", "hdf5", "--episodes", "1", "-o", "x"}, "--format hdf5"},
      {random({"-o", "x"}), "--episodes N or --steps N"},
      {random({"-o", "x", "--episodes", "1", "--steps", "1"}), "--episodes N or --steps N"},
      {random({"-o", "x", "--episodes", "0"}), "--episodes 0"},
      {random({"-o", "x", "--steps", "many"}), "--steps many"},
      {random({"-o", "x", "--episodes", "1", "--seed", "-1"}), "--seed -1"},
      {random({"-o", "x", "--episodes", "1", "--num-envs", "0"}), "--num-envs 0"},
      {random({"-o", "x", "--episodes", "1", "--device", "gpu"}), "device"},
      {random({"-o", "x", "--episodes", "1", "--ref-min-score", "low"}), "--ref-min-score low"},
      {random({"-o", "x", "--episodes", "1", "--ref-min-score", "5", "--ref-max-score", "4"}),
       "--ref-max-score 4: must be above --ref-min-score 5"},
      {random({"-o", "x", "--episodes", "1", "--stochastic"}), "--random and --stochastic"},
      {random({"-o", "x", "--episodes", "1", "--resume"}), "no interrupted recording"},
      {random({"-o", "x", "--episodes", "1", "--dataset-id", "a b-v0"}), "--dataset-id 'a b-v0'"},
      {random({"-o", "x", "--episodes", "1", "--dataset-id", "../up-v0"}), "--dataset-id ../up-v0"},
      {random({"-o", "x", "--episodes", "1", "--dataset-id", "name"}), "--dataset-id name"},
      {random({"--episodes", "1"}), "-o: name the file"},
      {random({"-o", "file", "--episodes", "1"}), "exists"},
      {random({"-o", "empty_run", "--episodes", "1"}), "exists"},
      {random({"-o", "file/below", "--episodes", "1"}), "file"},
      {random({"-o", "nowhere/x", "--episodes", "1"}), "nowhere is not there"},
      {{"record", "CartPole-v1", "--random", "--format", "tensordict", "--episodes", "1", "-o", "nowhere/x"},
       "nowhere is not there"},
      {{"record", "CartPole-v1", "--random", "--format", "minari", "--episodes", "1", "-o", "nowhere/x"},
       "nowhere is not there"},
      {random({"-o", "/proc/below/x", "--episodes", "1"}), "/proc/below"},
  };
  for (const BadInput& bad : cases) check_bad_input(bad, folder.path());
}

TEST(Record, AFullDiskKeepsWhatWasRecorded) {
  for (const std::string& format : kDatasetFormats) {
    SCOPED_TRACE(format);
    const TempFolder folder;
    const fs::path disk_path = folder / "disk";
    SmallDisk disk(disk_path, "size=128k");
    if (!disk.failure().empty()) GTEST_SKIP() << "cannot mount a small tmpfs: " << disk.failure();
    const auto words = [&](const fs::path& output) {
      return record("Pendulum-v1", format, output, {"--random", "--episodes", "40", "--num-envs", "4", "--quiet"});
    };
    const ProgramResult full = run_program(words(disk_path / "set"), ".", kLimit);
    expect_one_line(full, "go on by the same command with --resume");
    EXPECT_EQ(full.err.find(".recording"), std::string::npos) << full.err;
    const fs::path set = format == "minari" ? disk_path / "set/hotloop/pendulum-v1/random-v0" : disk_path / "set";
    EXPECT_FALSE(fs::exists(set));
    // room for the spool, not for the dataset beside it
    disk.change("size=300k");
    Words again = words(disk_path / "set");
    again.push_back("--resume");
    const ProgramResult still_full = run_program(again, ".", kLimit);
    expect_one_line(still_full, "go on by the same command with --resume");
    EXPECT_EQ(still_full.err.find(".recording"), std::string::npos) << still_full.err;
    EXPECT_FALSE(fs::exists(set));
    disk.change("size=64m");
    expect_success(run_program(again, ".", kLimit));
    expect_success(run_program(words(folder / "whole"), ".", kLimit));
    EXPECT_TRUE(contents(disk_path / "set") == contents(folder / "whole"));
  }
}

TEST(Record, AFolderThatCannotBeWritten) {
  const TempFolder folder;
  SmallDisk disk(folder / "sealed", "size=1m");
  if (::geteuid() == 0) {
    if (!disk.failure().empty()) GTEST_SKIP() << "root writes everywhere, and cannot mount here: " << disk.failure();
    disk.change("size=1m", MS_RDONLY);
  } else {
    ::chmod((folder / "sealed").c_str(), 0555);
  }
  for (const std::string& format : kDatasetFormats)
    check_bad_input({record("CartPole-v1", format, "sealed/set", {"--random", "--episodes", "1"}), "sealed"},
                    folder.path());
}

TEST(Record, AnExistingDatasetStaysAsItIs) {
  const TempFolder folder;
  for (const std::string& format : kDatasetFormats) {
    const Words words = record("CartPole-v1", format, format, {"--random", "--episodes", "2", "--quiet"});
    expect_success(run_program(words, folder.path(), kLimit));
    check_bad_input({words, "exists"}, folder.path());
  }
}

}  // namespace
}  // namespace hotloop
