// The terms of the reward step by step: in trajectory logs, in what replays and converts them, in datasets that are
// inspected and repaired. tests/app/record_test.cpp has what a recording holds of them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/dataset/log_episodes.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_types.h"
#include "tests/app/program.h"
#include "tests/app/reference_episodes.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kTask = "InvertedDoublePendulum-v5";
const Words kTerms = {"reward_survive", "distance_penalty", "velocity_penalty"};
constexpr double kLimit = 120;  // [s]

ProgramResult run(const Words& words) { return run_program(words, ".", kLimit); }

void train(const fs::path& folder, const fs::path& log, Words more = {}) {
  more.insert(more.end(), {"--log-trajectories", log.string(), "--total-timesteps", "2560"});
  Words words = small_run(folder, more);
  words.at(1) = kTask;
  const ProgramResult result = run(words);
  ASSERT_EQ(result.status, 0) << result.err;
}

template <class T>
std::vector<T> all_of(const LogReader& log, const char* key) {
  const std::size_t rows = static_cast<std::size_t>(log.num_rows() * log.num_worlds());
  std::vector<T> values(rows * log.key(key).bytes() / sizeof(T));
  log.read(key, 0, log.num_rows(), 0, log.num_worlds(), values.data());
  return values;
}

// Writes one number of a dataset of an HDF5 file.
void overwrite(const fs::path& path, const char* name, std::vector<hsize_t> at, float value) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path.string());
  const Hdf5Handle set(H5Dopen2(file.get(), name, H5P_DEFAULT), name), space(H5Dget_space(set.get()), name);
  const std::vector<hsize_t> one(at.size(), 1);
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(one.size()), one.data(), nullptr), name);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one.data(), nullptr), name);
  hdf5_check(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, &value), name);
}

TEST(RewardTermsLog, HoldsThemByNameAndReplays) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const std::string path = (folder / "log.h5").string();
  train(folder / "run", path);
  {
    const LogReader log(path);
    EXPECT_EQ(log.key(kRewardTermsKey).names, kTerms);
    const auto terms = all_of<float>(log, kRewardTermsKey), rewards = all_of<float>(log, "next/reward");
    ASSERT_EQ(terms.size(), 3 * rewards.size());
    for (std::size_t i = 0; i < rewards.size(); ++i)
      ASSERT_NEAR(std::accumulate(&terms[3 * i], &terms[3 * i] + 3, 0.0), rewards[i], 1e-5) << i;
  }
  const ProgramResult same = run({"replay", path, "--check"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  overwrite(path, kRewardTermsKey, {5, 1, 2}, 7.0f);
  const ProgramResult other = run({"replay", path, "--check"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.out.find("row 5, world 1, next/reward_terms: logged 7, "), std::string::npos) << other.out;
}

TEST(RewardTermsLog, OfAPlayHoldsThemToo) {
  const TempFolder folder;
  const std::string path = (folder / "played.h5").string();
  train(folder / "run", folder / "log.h5");
  const ProgramResult played = run({"play", (folder / "run").string(), "--episodes", "3", "--device", "cpu",
                                    "--log-trajectories", path, "--log-keys", "all,state"});
  ASSERT_EQ(played.status, 0) << played.err;
  EXPECT_EQ(LogReader(path).key(kRewardTermsKey).names, kTerms);
  const ProgramResult again = run({"replay", path, "--check"});
  EXPECT_EQ(again.status, 0) << again.out << again.err;
}

// The whole episodes of a log, taken from its leaves read whole.
std::vector<Episode> logged_episodes(const LogReader& log) {
  const auto observation = all_of<float>(log, "observation"), reward = all_of<float>(log, "next/reward"),
             term = all_of<float>(log, kRewardTermsKey);
  const auto action = all_of<std::byte>(log, "action");
  const auto terminated = all_of<std::uint8_t>(log, "next/terminated"),
             truncated = all_of<std::uint8_t>(log, "next/truncated");
  const auto worlds = static_cast<std::size_t>(log.num_worlds()), d = static_cast<std::size_t>(log.obs_dim());
  std::map<std::pair<std::int64_t, std::int32_t>, std::vector<float>> last;
  for (std::size_t i = 0; i < log.iterations().size(); ++i) {
    const LogFinals finals = log.read_finals(static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < finals.row.size(); ++k)
      last[{finals.row[k], finals.env[k]}].assign(&finals.observation[k * d], &finals.observation[k * d] + d);
  }
  std::vector<Episode> episodes;
  // the configuration of the task lets worlds start at random times: their first episodes are not whole
  for (const LoggedEpisode& at : find_episodes(log, false).whole) {
    Episode e;
    e.length = at.length;
    const auto take = [](auto& to, const auto& from, std::size_t i, std::size_t count) {
      to.insert(to.end(), &from[i * count], &from[i * count] + count);
    };
    for (std::int64_t t = at.row; t < at.row + at.length; ++t) {
      const std::size_t i = static_cast<std::size_t>(t) * worlds + static_cast<std::size_t>(at.column);
      take(e.observations, observation, i, d);
      take(e.actions, action, i, sizeof(float));
      take(e.rewards, reward, i, 1);
      take(e.terminated, terminated, i, 1);
      take(e.truncated, truncated, i, 1);
      take(e.reward_terms, term, i, kTerms.size());
    }
    const auto& end = last.at({at.row + at.length - 1, static_cast<std::int32_t>(at.column)});
    e.observations.insert(e.observations.end(), end.begin(), end.end());
    episodes.push_back(std::move(e));
  }
  return episodes;
}

TEST(RewardTermsLog, ConvertsToEveryFormat) {
  const TempFolder folder;
  const fs::path path = folder / "log.h5", expected = folder / "expected.safetensors";
  train(folder / "run", path);
  const std::vector<Episode> episodes = logged_episodes(LogReader(path));
  ASSERT_GT(episodes.size(), 20u);
  write_expected(expected, kTask, episodes);
  std::vector<DatasetToCheck> datasets;
  for (const std::string& format : kDatasetFormats) {
    const fs::path set = folder.path() / ("set." + format);
    const ProgramResult result = run({"convert", path.string(), "--to", format, "-o", set.string()});
    ASSERT_EQ(result.status, 0) << result.err;
    datasets.push_back({format, set, expected, kTask});
  }
  const int status = check_datasets(datasets, folder / "log");
  const std::string log = read_file(folder / "log", UINT64_MAX);
  if (status == 77 && !must_have_python()) GTEST_SKIP() << test_python() << ": " << log;
  EXPECT_EQ(status, 0) << log;
}

// The rows of each key of an inspected dataset.
std::map<std::string, std::int64_t> rows_of_keys(const fs::path& path) {
  const ProgramResult result = run({"inspect", path.string(), "--json"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const Json report = Json::parse(result.out, nullptr, false);
  EXPECT_EQ(report["problems"], Json::array());
  std::map<std::string, std::int64_t> rows = {{"", report["steps"]}};
  for (const Json& key : report["keys"]) rows[key["name"]] = key["rows"];
  return rows;
}

TEST(RewardTermsLog, WithoutThemConvertsToADatasetWithoutThem) {
  const TempFolder folder;
  const fs::path path = folder / "log.h5";
  train(folder / "run", path, {"--log-keys", "observation,action,next/reward,next/terminated,next/truncated"});
  for (const std::string& format : kDatasetFormats) {
    const fs::path set = folder.path() / ("set." + format);
    const ProgramResult result =
        run({"convert", path.string(), "--to", format, "-o", set.string(), "--dataset-id", "set-v0"});
    ASSERT_EQ(result.status, 0) << result.err;
    for (const auto& [key, rows] : rows_of_keys(format == "minari" ? set / "set-v0" : set))
      for (const std::string& term : kTerms) EXPECT_EQ(key.find(term), std::string::npos) << format << " " << key;
  }
}

fs::path record(const TempFolder& folder, const std::string& format) {
  const fs::path output = folder.path() / ("set." + format);
  const ProgramResult result = run({"record", kTask, "--random", "--format", format, "--episodes", "40", "--device",
                                    "cpu", "--dataset-id", "set-v0", "-o", output.string()});
  EXPECT_EQ(result.status, 0) << result.err;
  return format == "minari" ? output / "set-v0" : output;
}

// Every file of a dataset by its path.
std::map<std::string, std::string> contents(const fs::path& path) {
  std::map<std::string, std::string> files;
  if (fs::is_regular_file(path)) files[""] = read_file(path, UINT64_MAX);
  if (fs::is_directory(path))
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        files[entry.path().lexically_relative(path).string()] = read_file(entry.path(), UINT64_MAX);
  return files;
}

TEST(RewardTermsDataset, AreInspectedAndRepaired) {
  const TempFolder folder;
  const std::map<std::string, std::string> groups = {
      {"minari", "infos/"}, {"d4rl", "infos/"}, {"tensordict", "next/reward_terms/"}};
  for (const std::string& format : kDatasetFormats) {
    SCOPED_TRACE(format);
    const fs::path set = record(folder, format), target = folder.path() / ("new." + format);
    const std::map<std::string, std::int64_t> rows = rows_of_keys(set);
    const auto group = groups.find(format);
    for (const std::string& term : kTerms) {
      if (group == groups.end()) continue;
      const std::string key = group->second + term;
      ASSERT_TRUE(rows.contains(key)) << key;
      EXPECT_EQ(rows.at(key), rows.at("") + (format == "minari" ? 40 : 0)) << key;
    }
    const ProgramResult result = run({"repair", set.string(), "-o", target.string()});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(contents(set) == contents(target));
  }
}

TEST(RewardTermsDataset, EpisodesThatLostThemAreLeftOut) {
  const Hdf5Quiet quiet;
  const TempFolder folder;
  const fs::path set = record(folder, "minari");
  {
    const fs::path data = set / "data/main_data.hdf5";
    const Hdf5Handle file(H5Fopen(data.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), data.string());
    hdf5_check(H5Ldelete(file.get(), "episode_7/infos/distance_penalty", H5P_DEFAULT), "episode_7");
  }
  const ProgramResult result = run({"repair", set.string(), "-o", (folder / "new").string()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("39 episodes recovered"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("episode_7"), std::string::npos) << result.out << result.err;
}

}  // namespace
}  // namespace hotloop
