// Trajectory logs: what is written is what is read, by us and by h5py.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "data/file.h"
#include "data/hdf5_types.h"
#include "data/log/log_reader.h"
#include "data/log/space_json.h"
#include "tests/data/log_rig.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// Every value of the log is the one of the iterations in `indices`.
void expect_small_log(const LogReader& log, const LogSpec& spec, const std::vector<std::int64_t>& indices) {
  const auto worlds = static_cast<std::int64_t>(spec.env_index.size()), steps = spec.info.num_steps;
  ASSERT_EQ(log.iterations().size(), indices.size());
  EXPECT_EQ(log.num_rows(), static_cast<std::int64_t>(indices.size()) * steps);
  EXPECT_EQ(log.env_index(), spec.env_index);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const SmallIteration expected(spec, indices[i]);
    const auto at = static_cast<std::int64_t>(i);
    EXPECT_EQ(log.iterations()[i].index, indices[i]);
    EXPECT_EQ(log.iterations()[i].global_step, expected.iteration.global_step);
    for (std::size_t k = 0; k < spec.keys.size(); ++k) {
      std::vector<std::byte> values(expected.storage[k].size());
      log.read(spec.keys[k].name, at * steps, steps, 0, worlds, values.data());
      EXPECT_EQ(values, expected.storage[k]) << spec.keys[k].name << " of iteration " << indices[i];
    }
    std::vector<float> last(expected.last.size());
    log.read_last_observation(at, 0, worlds, last.data());
    EXPECT_EQ(last, expected.last);
    const LogFinals finals = log.read_finals(at);
    std::vector<std::int64_t> rows = expected.iteration.final_row;
    for (std::int64_t& row : rows) row += at * steps;
    EXPECT_EQ(finals.row, rows);
    EXPECT_EQ(finals.env, expected.iteration.final_env);
    EXPECT_EQ(finals.observation, expected.iteration.final_observation);
    std::vector<std::byte> state(spec.state_bytes);
    if (spec.state_bytes > 0) log.read_state(at, state.data());
    EXPECT_EQ(state, expected.state);
  }
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

TEST(Log, ReadsWhatWasWritten) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  const LogSpec spec = small_log_spec();
  write_small_log(path, spec, {}, 0, 10);
  EXPECT_FALSE(fs::exists(log_part_path(path)));
  const LogReader log(path);
  expect_small_log(log, spec, range(0, 10));
  EXPECT_TRUE(log.problems().empty());
  EXPECT_EQ(log.info().task, "Task-v0");
  EXPECT_EQ(log.info().config, spec.info.config);
  EXPECT_EQ(log.info().seed, 7);
  EXPECT_EQ(log.info().max_episode_steps, 100);
  EXPECT_TRUE(log.continues(3));
  EXPECT_FALSE(log.continues(0));
  // a window across iterations
  std::vector<float> reward(7 * 2);
  log.read("next/reward", 2, 7, 1, 2, reward.data());
  EXPECT_EQ(reward[0], static_cast<float>(SmallIteration::value(1, 0, 2 * 5 + 1)));
  EXPECT_EQ(reward[13], static_cast<float>(SmallIteration::value(1, 2, 0 * 5 + 2)));
  EXPECT_NE(error_text([&] { log.read("next/reward", 39, 2, 0, 5, reward.data()); }).find("rows 39 to 41: it has 40"),
            std::string::npos);
  EXPECT_NE(error_text([&] { log.key("next_reward"); }).find("did you mean 'next/reward'"), std::string::npos);
}

TEST(Log, ManyWorldsAndLongRolloutsAreCutIntoChunks) {
  const TempFolder folder;
  for (const auto& [worlds, steps, gzip] : {std::array<int, 3>{700, 3, 0}, {700, 3, 1}, {3, 60000, 0}, {1, 1, 4}}) {
    const fs::path path = folder / ("a" + std::to_string(worlds) + std::to_string(gzip) + ".h5").c_str();
    const LogSpec spec = small_log_spec(worlds, steps, worlds * 4000);
    LogWriterOptions options;
    options.gzip = gzip;
    options.num_threads = 2;
    write_small_log(path, spec, options, 5, 8);
    const LogReader log(path);
    expect_small_log(log, spec, range(5, 8));
    EXPECT_LE(log.world_group(), 256);
  }
}

TEST(Log, SegmentsAreCompleteFiles) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  const LogSpec spec = small_log_spec();
  LogWriterOptions options;
  options.segment_gib = 2000.0 / 1073741824;
  write_small_log(path, spec, options, 0, 9);
  EXPECT_TRUE(fs::exists(folder / "a.1.h5"));
  EXPECT_TRUE(fs::exists(folder / "a.2.h5"));
  const LogReader log(path);
  expect_small_log(log, spec, range(0, 9));
  EXPECT_GT(LogReader(folder / "a.1.h5").num_rows(), 0);
}

TEST(Log, ASegmentEndsBeforeItsIndexIsSplit) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  LogSpec spec = small_log_spec(1, 1, 0);
  spec.expected_iterations = 1;  // the least room: 64 chunks
  write_small_log(path, spec, {}, 0, 100);
  EXPECT_EQ(LogReader(path).iterations().size(), 100u);
  fs::remove(folder / "a.1.h5");
  EXPECT_EQ(LogReader(path).iterations().size(), 64u);
}

// A log of five segments of two iterations each.
fs::path five_segments(const fs::path& folder) {
  const fs::path path = folder / "a.h5";
  LogWriterOptions options;
  options.resume = true;  // the next segment
  for (std::int64_t i = 0; i < 10; i += 2) write_small_log(path, small_log_spec(), options, i, i + 2);
  EXPECT_EQ(log_segments(path), range(0, 5));
  return path;
}

TEST(Log, MissingSegmentsAreNamedAndThoseAfterThemRead) {
  const TempFolder folder;
  const fs::path path = five_segments(folder.path());
  fs::rename(folder / "a.2.h5", folder / "b.h5");
  for (const char* other : {"a.02.h5", "a.x.h5", "a.2.h5.tmp", "a.-2.h5", "ab.2.h5"})  // no segments of it
    write_file(folder / other, "");
  {
    const LogReader log(path);
    EXPECT_EQ(log.problems(), std::vector{(folder / "a.2.h5").string() + " is missing; a.3.h5 and a.4.h5 follow"});
    EXPECT_TRUE(log.lost_iterations());
    expect_small_log(log, small_log_spec(), {0, 1, 2, 3, 6, 7, 8, 9});
    EXPECT_TRUE(log.continues(5));
    EXPECT_FALSE(log.continues(4));
  }
  fs::rename(folder / "a.4.h5", folder / "a.4.h5.part");
  fs::remove(folder / "a.3.h5");
  EXPECT_EQ(LogReader(path).problems(),
            std::vector{(folder / "a.2.h5").string() + " to a.3.h5 are missing; a.4.h5 follows"});
  fs::remove(path);
  EXPECT_EQ(error_text([&] { const LogReader log(path); }), path.string() + ": no such file; a.1.h5 and a.4.h5 follow");
}

TEST(Log, AWriterNeverFillsTheGapOfAMissingSegment) {
  const TempFolder folder;
  const fs::path path = five_segments(folder.path());
  fs::remove(folder / "a.2.h5");
  LogWriterOptions options;
  options.resume = true;
  write_small_log(path, small_log_spec(), options, 4, 12);
  EXPECT_EQ(log_segments(path), (std::vector<std::int64_t>{0, 1, 3, 4, 5}));
  expect_small_log(LogReader(path), small_log_spec(), range(0, 12));
  for (const char* name : {"a.h5", "a.1.h5", "a.3.h5", "a.4.h5"}) fs::remove(folder / name);
  EXPECT_NE(error_text([&] { write_small_log(path, small_log_spec(), {}, 0, 6); }).find("a.5.h5: is there already"),
            std::string::npos);
}

TEST(Log, IterationsLoggedAgainCountOnce) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  const LogSpec spec = small_log_spec();
  write_small_log(path, spec, {}, 0, 6);
  EXPECT_NE(error_text([&] { write_small_log(path, spec, {}, 0, 6); }).find("a.h5: is there already"),
            std::string::npos);
  LogWriterOptions options;
  options.resume = true;
  write_small_log(path, spec, options, 4, 8);
  expect_small_log(LogReader(path), spec, range(0, 8));
}

// As chunks that were never written, which HDF5 reads as zeros.
TEST(Log, ALeafOfWhichTheFileCannotHoldAnIterationIsNamed) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path path = folder / "log.h5";
  write_small_log(path, small_log_spec(3, 4), {}, 0, 3);
  EXPECT_TRUE(LogReader(path).problems().empty());
  // one row of one world would do
  const auto width = static_cast<hsize_t>(1000 * fs::file_size(path) / sizeof(float));
  const hsize_t dims[] = {4, 3, width}, chunk[] = {1, 1, 8};
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "log"),
        plan(H5Pcreate(H5P_DATASET_CREATE), "plan"), space(H5Screate_simple(3, dims, nullptr), "space");
    hdf5_check(H5Pset_chunk(plan.get(), 3, chunk), "plan");
    const Hdf5Handle set(
        H5Dcreate2(file.get(), "next/wide", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT), "set");
    for (const char* key : {"units", "description"}) write_text_attribute(set.get(), key, "", "set");
  }
  const LogReader log(path);
  ASSERT_EQ(log.problems().size(), 1u);
  EXPECT_TRUE(log.problems()[0].ends_with("'next/wide' is larger than the file can hold")) << log.problems()[0];
}

TEST(Log, OpensInH5py) {
  if (!python_has("h5py")) GTEST_SKIP() << "no h5py";
  const TempFolder folder;
  LogWriterOptions options;
  write_small_log(folder / "raw.h5", small_log_spec(), options, 0, 10);
  options.gzip = 4;
  write_small_log(folder / "gzip.h5", small_log_spec(), options, 0, 10);
  EXPECT_TRUE(run_python(folder.path(), R"(
import h5py, numpy as np
value = lambda key, index, i: (key * 1009 + index * 101 + i * 7) % 126 + 1
for name in ("raw.h5", "gzip.h5"):
    with h5py.File(name, "r") as f:
        assert f.attrs["format"] == "hotloop-trajectories" and f.attrs["format_version"] == 1
        assert f.attrs["seed"] == 7 and f.attrs["task"] == "Task-v0" and f.attrs["share"] == 1.0
        assert f["observation"].shape == (40, 5, 3) and f["observation"].dtype == np.float32
        assert f["next/terminated"].dtype == np.bool_ and f["action"].dtype == np.int64
        assert f["observation"].compression == (None if name == "raw.h5" else "gzip")
        assert f["observation"].attrs["description"] and f["final/row"].attrs["description"]
        assert list(f["iteration/index"]) == list(range(10)) and list(f["env_index"]) == [1, 2, 3, 4, 5]
        i = np.arange(4 * 5 * 3)
        for k in range(10):
            rows = slice(4 * k, 4 * k + 4)
            assert (f["observation"][rows] == value(3, k, i).reshape(4, 5, 3)).all()
            assert (f["next/reward"][rows] == value(1, k, i[:20]).reshape(4, 5, 1)).all()
            assert (f["next/terminated"][rows] == (value(2, k, i[:20]) % 2 == 1).reshape(4, 5, 1)).all()
            assert (f["action"][rows] == value(0, k, i[:20]).reshape(4, 5)).all()
            assert (f["last_observation"][k] == value(20, k, i[:15]).reshape(5, 3)).all()
            assert (f["state"][k] == value(21, k, np.arange(48))).all()
            assert (f["final/row"][rows] == 4 * k + np.arange(4)).all()
            assert (f["final/env"][rows] == (np.arange(4) + k) % 5).all()
            assert (f["final/observation"][4 * k + 1] == value(23, k, i[:3])).all()
        assert f["iteration/final_end"][9] == 40
)"));
}

TEST(Log, FoldersThatCannotBeWritten) {
  const TempFolder folder;
  const auto refused = [&](const fs::path& path) {
    return error_text([&] { LogWriter(path, small_log_spec(), LogWriterOptions{}); });
  };
  EXPECT_EQ(refused(folder / "no/a.h5"),
            "cannot write " + (folder / "no/a.h5").string() + ": No such file or directory");
  EXPECT_NE(refused(folder / "a.txt").find("ends in .h5"), std::string::npos);
  EXPECT_NE(refused("/proc/a.h5").find("cannot write /proc/a.h5: "), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 0);
}

// In a process of its own, as the library keeps a file that it cannot close.
TEST(Log, ASecondWriterIsTold) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  const auto second = [&] { return error_text([&] { LogWriter(path, small_log_spec(), LogWriterOptions{}); }); };
  {
    LogWriter writer(path, small_log_spec(), LogWriterOptions{});
    EXPECT_EQ(second(), path.string() + ": another process is writing it");
    writer.append(SmallIteration(small_log_spec(), 0).iteration);
    writer.close();
  }
  EXPECT_NE(second().find("is there already"), std::string::npos);
}

TEST(LogDeathTest, AFileThatMayNotGrowKeepsWhatItHeld) {
  const TempFolder folder;
  const fs::path path = folder / "a.h5";
  const LogSpec spec = small_log_spec(400, 32);
  const auto write = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {12'000'000, 12'000'000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    LogWriterOptions options;
    options.flush_seconds = 0;
    LogWriter writer(path, spec, options);
    const std::string error = error_text([&] {
      for (std::int64_t i = 0; i < 100; ++i) writer.append(SmallIteration(spec, i).iteration);
    });
    std::fputs(error.c_str(), stderr);
    std::exit(error.empty() ? 1 : 0);
  };
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_EXIT(write(), testing::ExitedWithCode(0), "a.h5.part: .*File too large");
  const LogReader log(path);
  EXPECT_GT(log.iterations().size(), 10u);
  expect_small_log(log, spec, range(0, static_cast<std::int64_t>(log.iterations().size())));
}

TEST(Log, SpacesAsGymnasiumSpellsThem) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(space_json(BoxSpace{{-4.8f, -inf}, {4.8f, inf}}),
            R"({"type": "Box", "dtype": "float32", "shape": [2], "low": [-4.800000190734863, -Infinity], )"
            R"("high": [4.800000190734863, Infinity]})");
  EXPECT_EQ(space_json(ActionSpace::discrete(2)), R"({"type": "Discrete", "dtype": "int64", "start": 0, "n": 2})");
  EXPECT_EQ(space_json(ActionSpace::multi_discrete({3, 2})),
            R"({"type": "MultiDiscrete", "dtype": "int64", "nvec": [3, 2], "start": [0, 0]})");
}

}  // namespace
}  // namespace hotloop
