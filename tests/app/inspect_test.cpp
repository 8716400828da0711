// `hotloop inspect`: right counts of whole logs and datasets; of damaged ones a status and a few lines, never a crash.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_handle.h"
#include "data/hdf5_types.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kLimit = 120;  // [s]
constexpr std::int64_t kEpisodes = 12;

// A recorded dataset of random CartPole episodes; minari's folder is below `path`, by its id.
fs::path record(const fs::path& path, const std::string& format) {
  const ProgramResult result =
      run_program({"record", "CartPole-v1", "--random", "--format", format, "-o", path.string(), "--device", "cpu",
                   "--episodes", std::to_string(kEpisodes), "--quiet"},
                  ".", kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  return format == "minari" ? path / "hotloop/cartpole-v1/random-v0" : path;
}

// The file of a dataset that the tests damage.
fs::path data_file(const fs::path& dataset, const std::string& format) {
  if (format == "minari") return dataset / "data/main_data.hdf5";
  return format == "tensordict" ? dataset / "next/reward.memmap" : dataset;
}

json inspect_json(const fs::path& path, int status) {
  const ProgramResult result = run_program({"inspect", path.string(), "--json"}, ".", kLimit);
  EXPECT_EQ(result.status, status) << path << result.out << result.err;
  EXPECT_EQ(result.err, "");
  return json::parse(result.out, nullptr, false);
}

bool has_problem(const json& report, const std::string& words) {
  for (const json& problem : report["problems"])
    if (problem.get<std::string>().find(words) != std::string::npos) return true;
  return false;
}

// Never a crash or a hang, and never more lines than a report has.
void expect_calm(const fs::path& path, const std::string& what) {
  const ProgramResult result = run_program({"inspect", path.string()}, ".", kLimit);
  EXPECT_FALSE(result.timed_out) << what;
  EXPECT_TRUE(result.status >= 0 && result.status <= 2) << what << ": " << result.status << result.err;
  EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 120) << what;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << what << result.err;
  EXPECT_EQ(result.err.empty(), !result.out.empty()) << what << result.err;
}

TEST(Inspect, EveryFormatIsCleanAndCounted) {
  const TempFolder folder;
  std::vector<double> means;
  for (const std::string& format : kDatasetFormats) {
    const fs::path dataset = record(folder / format.c_str(), format);
    const json report = inspect_json(dataset, 0);
    EXPECT_EQ(report["format"], format);
    EXPECT_EQ(report["episodes"], kEpisodes) << format;
    EXPECT_EQ(report["problems"], json::array()) << format;
    EXPECT_EQ(report["length"]["count"], kEpisodes) << format;
    // CartPole gives 1 for each step
    EXPECT_EQ(report["return"]["mean"], report["length"]["mean"]) << format;
    EXPECT_NEAR(report["length"]["mean"].get<double>() * kEpisodes, report["steps"].get<double>(), 1e-6) << format;
    std::int64_t binned = 0;
    for (const json& bin : report["return"]["histogram"]) binned += bin["count"].get<std::int64_t>();
    EXPECT_EQ(binned, kEpisodes) << format;
    const std::int64_t steps = report["steps"];
    for (const json& key : report["keys"]) {
      const bool last = format == "minari" && key["name"] == "observations";
      EXPECT_EQ(key["rows"], last ? steps + kEpisodes : steps) << format << key;
      EXPECT_EQ(key["non_finite"], 0);
    }
    means.push_back(report["return"]["mean"]);
    const ProgramResult text = run_program({"inspect", dataset.string()}, ".", kLimit);
    EXPECT_NE(text.out.find("no problems found"), std::string::npos) << text.out;
  }
  EXPECT_TRUE(std::all_of(means.begin(), means.end(), [&](double m) { return m == means[0]; }));
}

TEST(Inspect, LogsOfTrainings) {
  const TempFolder folder;
  const fs::path log = folder / "log.h5", part = folder / "killed.h5.part";
  const ProgramResult trained =
      run_program(small_run(folder / "run", {"--log-trajectories", log.string()}), ".", kLimit);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const json report = inspect_json(log, 0);
  EXPECT_EQ(report["format"], "trajectory log");
  EXPECT_EQ(report["about"]["task"], "CartPole-v1");
  EXPECT_EQ(report["steps"], 15360);
  EXPECT_EQ(report["keys"][0]["rows"], 15360 / 8);
  EXPECT_GT(report["episodes"], 50);
  EXPECT_EQ(report["length"]["count"], report["episodes"]);
  fs::copy_file(log, part);
  EXPECT_EQ(inspect_json(part, 0)["steps"], 15360);
  EXPECT_EQ(inspect_json(folder / "killed.h5", 0)["steps"], 15360);
  const int writer = ::open(part.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  const ProgramResult busy = run_program({"inspect", part.string()}, ".", kLimit);
  EXPECT_EQ(busy.status, 2);
  EXPECT_NE(busy.err.find("another process is writing it"), std::string::npos) << busy.err;
  ::close(writer);
}

TEST(Inspect, TruncatedAndFlippedBytesAreSurvived) {
  const TempFolder folder;
  std::vector<std::pair<std::string, fs::path>> files;
  for (const std::string& format : kDatasetFormats) files.emplace_back(format, record(folder / format.c_str(), format));
  const fs::path log = folder / "log.h5";
  ASSERT_EQ(run_program(small_run(folder / "run", {"--log-trajectories", log.string(), "--total-timesteps", "512"}),
                        ".", kLimit)
                .status,
            0);
  files.emplace_back("log", log);
  std::mt19937 random(5);
  for (const auto& [format, dataset] : files) {
    const fs::path file = data_file(dataset, format);
    const std::string whole = read_file(file, UINT64_MAX);
    for (const double share : {0.01, 0.5, 0.99}) {
      write_file(file, whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size()))));
      const ProgramResult cut = run_program({"inspect", dataset.string()}, ".", kLimit);
      EXPECT_TRUE(cut.status == 1) << format << share << cut.out << cut.err;
      expect_calm(dataset, format + " cut");
    }
    for (int i = 0; i < 25; ++i) {
      std::string damaged = whole;
      const std::size_t range = i % 2 == 0 ? whole.size() : std::min<std::size_t>(whole.size(), 4096);
      const std::size_t at = random() % range;
      for (std::size_t k = at; k < std::min(at + 1 + static_cast<std::size_t>(i) % 8, whole.size()); ++k)
        damaged[k] = static_cast<char>(random());
      write_file(file, damaged);
      expect_calm(dataset, format + " with other bytes from " + std::to_string(at));
    }
    write_file(file, whole);
  }
}

// Puts `value` at row `row` of a dataset of an HDF5 file.
template <class T>
void overwrite(const fs::path& path, const char* set_name, hid_t type, hsize_t row, T value) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path.string());
  const Hdf5Handle set(H5Dopen2(file.get(), set_name, H5P_DEFAULT), set_name), space(H5Dget_space(set.get()), set_name);
  const std::vector<hsize_t> start = {row, 0}, count = {1, 1};
  const Hdf5Handle one(H5Screate(H5S_SCALAR), set_name);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), set_name);
  hdf5_check(H5Dwrite(set.get(), type, one.get(), space.get(), H5P_DEFAULT, &value), set_name);
}

TEST(Inspect, NamesWhatIsWrong) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const fs::path minari = record(folder / "minari", "minari"), robomimic = record(folder / "robomimic", "robomimic");
  const fs::path d4rl = record(folder / "d4rl", "d4rl"), tensordict = record(folder / "tensordict", "tensordict");
  const fs::path about = minari / "data/metadata.json";
  json meta = json::parse(read_file(about, UINT64_MAX));
  meta["total_steps"] = 7;
  write_file(about, meta.dump());
  EXPECT_TRUE(has_problem(inspect_json(minari, 1), "total_steps says 7, there are "));
  overwrite(minari / "data/main_data.hdf5", "episode_3/terminations", hdf5_type(DType::boolean, "").get(), 2,
            std::uint8_t{1});
  EXPECT_TRUE(has_problem(inspect_json(minari, 1), "episode_3: terminated or truncated before its last step"));
  {
    const Hdf5Handle file(H5Fopen((minari / "data/main_data.hdf5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "minari");
    hdf5_check(H5Ldelete(file.get(), "episode_5", H5P_DEFAULT), "episode_5");
    hdf5_check(H5Ldelete(file.get(), "episode_7/actions", H5P_DEFAULT), "actions");
  }
  const json holes = inspect_json(minari, 1);
  EXPECT_TRUE(has_problem(holes, "1 episodes before episode_6 are missing"));
  EXPECT_TRUE(has_problem(holes, "episode_7: has no actions"));
  EXPECT_TRUE(has_problem(holes, "total_episodes says 12, there are 11"));
  overwrite(robomimic, "data/demo_1/obs/flat", H5T_NATIVE_FLOAT, 1, nan);
  EXPECT_TRUE(has_problem(inspect_json(robomimic, 1), "obs/flat: 1 values are NaN or infinite"));
  overwrite(d4rl, "observations", H5T_NATIVE_FLOAT, 4, INFINITY);
  const json report = inspect_json(d4rl, 1);
  EXPECT_TRUE(has_problem(report, "observations: 1 values are NaN or infinite"));
  EXPECT_EQ(report["problems"].size(), 1u);
  std::string ids = read_file(tensordict / "episode.memmap", UINT64_MAX);
  ids[0] = 9;
  write_file(tensordict / "episode.memmap", ids);
  EXPECT_TRUE(has_problem(inspect_json(tensordict, 1), "episode: 1 steps are not of the episode"));
}

TEST(Repair, CopiesTheIterationsThatCanBeRead) {
  const TempFolder folder;
  const fs::path log = folder / "log.h5", whole = folder / "whole.h5", part = folder / "part.h5";
  ASSERT_EQ(run_program(small_run(folder / "run", {"--log-trajectories", log.string(), "--log-gzip", "1", "--log-keys",
                                                   "all,state", "--total-timesteps", "2560"}),
                        ".", kLimit)
                .status,
            0);
  const ProgramResult copied = run_program({"repair", log.string(), "-o", whole.string()}, ".", kLimit);
  EXPECT_EQ(copied.status, 0) << copied.err;
  EXPECT_NE(copied.out.find("10 iterations recovered"), std::string::npos) << copied.out;
  EXPECT_EQ(inspect_json(whole, 0)["steps"], 2560);
  EXPECT_EQ(run_program({"replay", whole.string(), "--check"}, ".", kLimit).status, 0);
  // one chunk of one iteration that does not inflate
  haddr_t offset = 0;
  hsize_t size = 0;
  {
    const Hdf5Handle file(H5Fopen(log.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "log");
    const Hdf5Handle set(H5Dopen2(file.get(), "observation", H5P_DEFAULT), "observation");
    const hsize_t at[3] = {3 * 32, 0, 0};
    unsigned filters = 0;
    hdf5_check(H5Dget_chunk_info_by_coord(set.get(), at, &filters, &offset, &size), "observation");
  }
  std::string bytes = read_file(log, UINT64_MAX);
  bytes.replace(offset, size, size, '\xff');
  write_file(log, bytes);
  EXPECT_TRUE(has_problem(inspect_json(log, 1), "observation"));
  const ProgramResult repaired = run_program({"repair", log.string(), "-o", part.string()}, ".", kLimit);
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  EXPECT_NE(repaired.out.find("9 iterations recovered"), std::string::npos) << repaired.out;
  EXPECT_NE(repaired.out.find("1 left out"), std::string::npos) << repaired.out;
  const json report = inspect_json(part, 0);
  EXPECT_EQ(report["steps"], 2560 - 256);
  EXPECT_LT(report["length"]["count"], report["episodes"]) << "episodes across the gap are not whole";
  check_bad_input({{"repair", "log.h5", "-o", "whole.h5"}, "whole.h5"}, folder.path());
  check_bad_input({{"repair", "log.h5"}, "-o: name the file"}, folder.path());
  check_bad_input({{"repair", "none.h5", "-o", "new.h5"}, "none.h5"}, folder.path());
}

TEST(Inspect, WhatIsNoDataset) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  fs::create_directories(folder / "other/inner");
  write_file(folder / "other/meta.json", R"({"name": "else"})");
  fs::create_directory(folder / "empty");
  std::string noise(5000, '\0');
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  write_file(folder / "noise.h5", noise);
  {
    const Hdf5Handle file(H5Fcreate((folder / "else.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "else.h5");
    Hdf5Handle(H5Gcreate2(file.get(), "weights", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "weights");
  }
  const std::vector<BadInput> cases = {
      {{"inspect"}, "name a trajectory log or a dataset"},
      {{"inspect", "none.h5"}, "none.h5: no such file"},
      {{"inspect", "noise.h5"}, "not HDF5"},
      {{"inspect", "else.h5"}, "is HDF5, but no trajectory log"},
      {{"inspect", "other"}, "describes no TensorDict"},
      {{"inspect", "empty"}, "is no dataset"},
      {{"inspect", "noise.h5", "--jsonn"}, "--jsonn"},
  };
  for (const BadInput& bad : cases) check_bad_input(bad, folder.path());
}

}  // namespace
}  // namespace hotloop
