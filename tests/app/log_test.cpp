// Trajectory logs of trainings: right values, the same training, and what is left after kills and on bad disks.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "data/hdf5_handle.h"
#include "data/log/log_reader.h"
#include "sim/core/registry.h"
#include "tests/app/program.h"
#include "tests/app/small_disk.h"
#include "tests/app/small_run.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 300;  // [s] of one program; a busy machine is no failure

ProgramResult train(const fs::path& run, const Words& more) { return run_program(small_run(run, more), ".", kLimit); }

ProgramResult replay(const fs::path& log, const Words& more = {}) {
  Words words = {"replay", log.string(), "--check"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words, ".", kLimit);
}

template <class T>
std::vector<T> all_of(const LogReader& log, const std::string& key) {
  std::vector<T> values(static_cast<std::size_t>(log.num_rows() * log.num_worlds() * log.key(key).numel()));
  log.read(key, 0, log.num_rows(), 0, log.num_worlds(), values.data());
  return values;
}

TEST(LogRun, HoldsWhatTheSimulatorGaveAndChangesNothing) {
  const TempFolder folder;
  const fs::path log_path = folder / "a.h5";
  ASSERT_EQ(train(folder / "plain", {}).status, 0);
  const ProgramResult result =
      train(folder / "logged", {"--log-trajectories", log_path.string(), "--log-keys", "all,state"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("logging observation, action, "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("logged 1920 rows of 8 worlds"), std::string::npos) << result.err;
  expect_same_run(folder / "plain", folder / "logged");
  // the same seed's worlds, stepped with the logged actions from their reset
  const LogReader log(log_path);
  BatchConfig config;
  config.num_envs = 8;
  config.seed = 3;
  const std::unique_ptr<Batch> batch = find_environment("CartPole-v1").make(config);
  StepBuffers io(batch->spec(), 8, {});
  batch->reset({}, io.observation.data(), nullptr);
  const auto action = all_of<std::int64_t>(log, "action");
  const auto observation = all_of<float>(log, "observation"), reward = all_of<float>(log, "next/reward");
  const auto terminated = all_of<std::uint8_t>(log, "next/terminated"),
             truncated = all_of<std::uint8_t>(log, "next/truncated");
  ASSERT_EQ(log.num_rows(), 1920);
  std::int64_t ends = 0;
  for (std::int64_t row = 0; row < log.num_rows(); ++row) {
    ASSERT_EQ(std::memcmp(io.observation.data(), &observation[static_cast<std::size_t>(row * 32)], 128), 0) << row;
    std::memcpy(io.action.data(), &action[static_cast<std::size_t>(row * 8)], 64);
    batch->step({}, io.io());
    ASSERT_EQ(std::memcmp(io.reward.data(), &reward[static_cast<std::size_t>(row * 8)], 32), 0) << row;
    ASSERT_EQ(std::memcmp(io.terminated.data(), &terminated[static_cast<std::size_t>(row * 8)], 8), 0) << row;
    ASSERT_EQ(std::memcmp(io.truncated.data(), &truncated[static_cast<std::size_t>(row * 8)], 8), 0) << row;
    const LogFinals finals = log.read_finals(row / 32);
    std::size_t next = 0;
    while (next < finals.row.size() && finals.row[next] < row) ++next;
    for (std::int64_t w = 0; w < 8; ++w) {
      if (!terminated[static_cast<std::size_t>(row * 8 + w)] && !truncated[static_cast<std::size_t>(row * 8 + w)])
        continue;
      ++ends;
      ASSERT_LT(next, finals.row.size());
      ASSERT_EQ(finals.row[next], row);
      ASSERT_EQ(finals.env[next], w);
      ASSERT_EQ(std::memcmp(&finals.observation[next * 4], io.final_observation.data() + w * 4, 16), 0);
      ++next;
    }
  }
  EXPECT_GT(ends, 50);
}

TEST(LogRun, GpuChangesNothingAndReplays) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const std::string road : {"generic", "fused"}) {
    const TempFolder folder;
    ASSERT_EQ(train(folder / "plain", {"--device", "cuda", "--road", road}).status, 0);
    for (const char* policy : {"block", "sample"}) {
      const fs::path run = folder / policy, log = folder.path() / (std::string(policy) + ".h5");
      const ProgramResult result = train(run, {"--device", "cuda", "--road", road, "--log-trajectories", log.string(),
                                               "--log-keys", "all,state", "--log-policy", policy});
      ASSERT_EQ(result.status, 0) << result.err;
      expect_same_run(folder / "plain", run);
      const ProgramResult again = replay(log);
      EXPECT_EQ(again.status, 0) << again.out << again.err;
    }
  }
}

TEST(LogRun, SubsetsOfWorldsKeysAndIterations) {
  const TempFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  ASSERT_EQ(train(folder / "r1", {"--log-trajectories", path("all.h5")}).status, 0);
  ASSERT_EQ(train(folder / "r2",
                  {"--log-trajectories", path("some.h5"), "--log-keys", "next/reward,next/terminated,observation",
                   "--log-envs", "2,3,5", "--log-every", "4", "--log-gzip", "2"})
                .status,
            0);
  const LogReader all(path("all.h5")), some(path("some.h5"));
  EXPECT_EQ(some.env_index(), (std::vector<std::int32_t>{2, 3, 5}));
  EXPECT_EQ(some.keys().size(), 3u);
  ASSERT_EQ(some.iterations().size(), 15u);
  const auto whole = all_of<float>(all, "observation"), part = all_of<float>(some, "observation");
  const auto ended = all_of<std::uint8_t>(all, "next/terminated"),
             ended_part = all_of<std::uint8_t>(some, "next/terminated");
  for (std::size_t row = 0; row < 15 * 32; ++row) {
    const std::size_t there = row / 32 * 4 * 32 + row % 32;
    for (std::size_t column = 0; column < 3; ++column) {
      const auto world = static_cast<std::size_t>(some.env_index()[column]);
      ASSERT_EQ(std::memcmp(&part[(row * 3 + column) * 4], &whole[(there * 8 + world) * 4], 16), 0) << row;
      ASSERT_EQ(ended_part[row * 3 + column], ended[there * 8 + world]) << row;
    }
  }
  EXPECT_EQ(some.iterations()[3].index, 12);
  EXPECT_EQ(some.iterations()[3].global_step, 12 * 256);
  EXPECT_EQ(all.key("action").dtype, DType::i64);
  EXPECT_FALSE(all.contains("advantage"));
}

TEST(LogRun, ReplaysBitByBitAndSeesADamagedValue) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  ASSERT_EQ(train(folder / "r1", {"--log-trajectories", path.string(), "--log-keys", "all,state"}).status, 0);
  ProgramResult result = replay(path);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("1920 rows of 8 worlds of CartPole-v1 simulated again, 59 states compared"),
            std::string::npos);
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "a.h5");
    const Hdf5Handle set(H5Dopen2(file.get(), "next/reward", H5P_DEFAULT), "next/reward");
    const Hdf5Handle space(H5Dget_space(set.get()), "");
    const hsize_t at[] = {777, 5, 0}, one[] = {1, 1, 1};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at, nullptr, one, nullptr);
    const Hdf5Handle memory(H5Screate_simple(3, one, nullptr), "");
    const float wrong = 1.5f;
    ASSERT_GE(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, &wrong), 0);
  }
  result = replay(path);
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.out.find("1 values differ; the first: row 777, world 5, next/reward: logged 1.5, replayed 1"),
            std::string::npos)
      << result.out;
}

TEST(LogRun, EveryEnvironmentReplays) {
  for (const EnvEntry& env : environments()) {
    const TempFolder folder;
    const fs::path path = folder / "a.h5";
    const ProgramResult trained = run_program({"train",
                                               env.spec.name,
                                               "--device",
                                               "cpu",
                                               "--num-envs",
                                               "3",
                                               "--num-steps",
                                               "32",
                                               "--total-timesteps",
                                               "192",
                                               "--num-minibatches",
                                               "1",
                                               "--update-epochs",
                                               "1",
                                               "--hidden-sizes",
                                               "8",
                                               "--eval-episodes",
                                               "1",
                                               "--num-threads",
                                               "2",
                                               "--max-episode-steps",
                                               "20",
                                               "--run-dir",
                                               (folder / "run").string(),
                                               "--quiet",
                                               "--log-trajectories",
                                               path.string(),
                                               "--log-keys",
                                               "all,state"},
                                              ".", kLimit);
    ASSERT_EQ(trained.status, 0) << env.spec.name << trained.err;
    const ProgramResult result = replay(path);
    EXPECT_EQ(result.status, 0) << env.spec.name << result.out << result.err;
    EXPECT_NE(result.out.find("64 rows of 3 worlds"), std::string::npos) << result.out;
  }
}

TEST(LogRun, SlowEveryEnvironmentReplays10000Steps) {
  for (const EnvEntry& env : environments()) {
    const TempFolder folder;
    const fs::path path = folder / "a.h5";
    const ProgramResult trained = run_program({"train",
                                               env.spec.name,
                                               "--device",
                                               "cpu",
                                               "--num-envs",
                                               "2",
                                               "--num-steps",
                                               "100",
                                               "--total-timesteps",
                                               "20000",
                                               "--num-minibatches",
                                               "1",
                                               "--update-epochs",
                                               "1",
                                               "--hidden-sizes",
                                               "8",
                                               "--eval-episodes",
                                               "1",
                                               "--run-dir",
                                               (folder / "run").string(),
                                               "--quiet",
                                               "--log-trajectories",
                                               path.string(),
                                               "--log-keys",
                                               "all,state"},
                                              ".", 3000);
    ASSERT_EQ(trained.status, 0) << env.spec.name << trained.err;
    const ProgramResult result = run_program({"replay", path.string(), "--check"}, ".", 3000);
    EXPECT_EQ(result.status, 0) << env.spec.name << result.out << result.err;
  }
}

// What h5py and our reader find in the log of a killed training is part of what the whole one holds.
class LogKill : public testing::Test {
 protected:
  void kill_at_random_moments(int times) {
    const fs::path whole_path = folder_ / "whole.h5";
    const auto start = std::chrono::steady_clock::now();
    const Words more = {"--total-timesteps", "76800", "--eval-interval", "0"};
    ASSERT_EQ(train(folder_ / "whole", with(more, whole_path)).status, 0);
    const double duration = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const LogReader whole(whole_path);
    int with_rows = 0;
    for (int i = 0; i < times; ++i) {
      const fs::path path = folder_ / ("a" + std::to_string(i) + ".h5").c_str();
      {
        Program program(small_run(folder_ / ("run" + std::to_string(i)).c_str(), with(more, path)));
        const double seconds = std::uniform_real_distribution<double>(0, duration)(random_);
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        program.signal(SIGKILL);
        program.wait(kLimit);
      }
      if (!fs::exists(path) && !fs::exists(log_part_path(path))) continue;
      const LogReader log(path);
      EXPECT_TRUE(log.problems().empty()) << log.problems()[0];
      if (log.num_rows() > 0) ++with_rows;
      expect_part_of(log, whole);
    }
    EXPECT_GT(with_rows, times / 4);
    if (python_has("h5py")) {
      EXPECT_TRUE(run_python(folder_.path(), kH5py));
    }
  }

 private:
  static Words with(Words more, const fs::path& path) {
    more.insert(more.end(),
                {"--log-trajectories", path.string(), "--log-keys", "all,state", "--log-flush-seconds", "0.02"});
    return more;
  }
  static void expect_part_of(const LogReader& log, const LogReader& whole) {
    ASSERT_LE(log.num_rows(), whole.num_rows());
    for (const LogKey& key : whole.keys()) {
      std::vector<std::byte> part(key.bytes() * static_cast<std::size_t>(log.num_rows() * 8)), rows(part);
      log.read(key.name, 0, log.num_rows(), 0, 8, part.data());
      whole.read(key.name, 0, log.num_rows(), 0, 8, rows.data());
      ASSERT_EQ(part, rows) << key.name << " of the " << log.num_rows() << " first rows";
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(log.iterations().size()); ++i)
      ASSERT_EQ(log.read_finals(i).observation, whole.read_finals(i).observation);
  }
  static constexpr const char* kH5py = R"(
import glob, h5py, numpy as np
for name in glob.glob("a*.h5") + glob.glob("a*.h5.part"):
    with h5py.File(name, "r") as f:
        rows = 32 * int((f["iteration/index"][:] >= 0).sum())
        for key in ("observation", "action", "next/reward", "next/terminated"):
            assert f[key][:rows].shape[0] == rows, (name, key)
        assert (f["next/reward"][:rows] == 1).all(), name
)";

  const TempFolder folder_;
  std::mt19937 random_{std::random_device{}()};
};

TEST_F(LogKill, AnyMomentLeavesAWholeLog) { kill_at_random_moments(10); }
TEST_F(LogKill, SlowAHundredMomentsLeaveWholeLogs) { kill_at_random_moments(100); }

TEST(LogRun, AResumedTrainingGoesOnInTheNextSegment) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5", run = folder / "run";
  const Words log = {"--log-trajectories", path.string(), "--log-keys", "all,state"};
  Words first = log;
  first.insert(first.end(), {"--total-timesteps", "7680"});
  ASSERT_EQ(train(run, first).status, 0);
  Words second = {"train", "--resume", run.string(), "--total-timesteps", "15360"};
  second.insert(second.end(), log.begin(), log.end());
  const ProgramResult resumed = run_program(second, ".", kLimit);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_TRUE(fs::exists(folder / "a.1.h5"));
  const LogReader reader(path);
  EXPECT_EQ(reader.num_rows(), 1920);
  EXPECT_TRUE(reader.continues(30));
  EXPECT_EQ(replay(path).status, 0);
}

void expect_refused(const ProgramResult& result, const std::string& mentions) {
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(mentions), std::string::npos) << result.err;
}

TEST(LogRun, BadInputIsOneLine) {
  const TempFolder folder;
  const fs::path run = folder / "run", path = folder / "a.h5";
  const auto refused = [&](const Words& more, const std::string& mentions) {
    Words words = {"--log-trajectories", path.string()};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(train(run, words), mentions);
    EXPECT_FALSE(fs::exists(run)) << mentions;
    EXPECT_FALSE(fs::exists(path)) << mentions;
  };
  refused({"--log-keys", "next/rewards"}, "did you mean 'next/reward'?");
  refused({"--log-keys", "state"}, "add action");
  refused({"--log-envs", "3-9"}, "--log-envs 3-9: world 9: must be an integer in [0, 7]");
  refused({"--log-envs", "9"}, "--log-envs (number of worlds) 9: must be an integer in [1, 8]");
  refused({"--log-envs", "0"}, "[1, 8]");
  refused({"--log-envs", "1,8"}, "--log-envs 1,8: world 8: must be an integer in [0, 7]");
  refused({"--log-envs", "1,1"}, "--log-envs 1,1: world 1 after 1: a list must ascend");
  refused({"--log-envs", "7,3"}, "--log-envs 7,3: world 3 after 7: a list must ascend");
  refused({"--log-envs", "few"}, "--log-envs few: must be N, A-B or A,B,C");
  refused({"--log-policy", "blok"}, "--log-policy blok");
  refused({"--log-every", "0"}, "--log-every 0");
  refused({"--log-gzip", "10"}, "--log-gzip 10: must be an integer in [0, 9]");
  refused({"--log-trajectories", (folder / "no/a.h5").string()}, "No such file or directory");
  expect_refused(train(run, {"--log-every", "2"}), "--log-trajectories");
  write_file(path, "there");
  expect_refused(train(run, {"--log-trajectories", path.string()}), "is there already");
  expect_refused(replay(path), "a.h5: ");
  expect_refused(replay(folder / "none.h5"), "no such file");
  ASSERT_EQ(train(run, {"--log-trajectories", (folder / "b.h5").string(), "--log-keys", "observation,action"}).status,
            0);
  expect_refused(replay(folder / "b.h5"), "--log-keys all,state");
}

TEST(LogRun, AFullDiskEndsTheLogAndByPolicyTheTraining) {
  const TempFolder folder;
  for (const std::string policy : {"block", "sample"}) {
    const SmallDisk disk(folder / policy.c_str(), "size=2m");
    if (!disk.failure().empty()) GTEST_SKIP() << "no file system to fill: " << disk.failure();
    const fs::path path = folder / (policy + "/a.h5").c_str(), run = folder / ("run_" + policy).c_str();
    const ProgramResult result =
        train(run, {"--log-trajectories", path.string(), "--log-policy", policy, "--log-flush-seconds", "0",
                    "--total-timesteps", "76800", "--eval-interval", "0"});
    EXPECT_EQ(result.status, policy == "block" ? 2 : 0) << result.err;
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
    EXPECT_TRUE(fs::exists(run / "latest.safetensors"));
    EXPECT_NE(result.err.find(policy == "block" ? "stopped and saved" : "goes on without its log"), std::string::npos)
        << result.err;
    EXPECT_EQ(result.err.find("HDF5"), std::string::npos) << result.err;
    EXPECT_GT(LogReader(path).num_rows(), 0);
  }
}

// Of the iteration that the disk refuses nothing counts, and nothing of those before is lost.
TEST(LogRun, AFullDiskLeavesWholeIterations) {
  const TempFolder folder;
  const SmallDisk disk(folder / "disk", "size=3m");
  if (!disk.failure().empty()) GTEST_SKIP() << "no file system to fill: " << disk.failure();
  const fs::path path = folder / "disk/a.h5";
  const ProgramResult result = train(
      folder / "run", {"--num-envs", "32", "--num-steps", "128", "--total-timesteps", "60000", "--eval-interval", "0",
                       "--log-trajectories", path.string(), "--log-keys", "all,state", "--log-flush-seconds", "0"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_GT(LogReader(path).iterations().size(), 5u);
  const ProgramResult again = replay(path);
  EXPECT_EQ(again.status, 0) << again.out << again.err;
}

}  // namespace
}  // namespace hotloop
