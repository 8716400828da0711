// `hotloop repair` of datasets.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 120;  // [s] of one program; a busy machine is no failure

// 200 episodes of CartPole, whose steps all give 1. Returns where the dataset is.
fs::path record(const TempFolder& folder, const std::string& format) {
  const fs::path output = folder.path() / ("set." + format);
  const ProgramResult result =
      run_program({"record", "CartPole-v1", "--random", "--format", format, "--episodes", "200", "--device", "cpu",
                   "--dataset-id", "set-v0", "--ref-min-score", "20", "--author", "A", "-o", output.string()},
                  ".", kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  return format == "minari" ? output / "set-v0" : output;
}

ProgramResult repair(const fs::path& path, const fs::path& target) {
  return run_program({"repair", path.string(), "-o", target.string()}, ".", kLimit);
}

std::vector<fs::path> files_below(const fs::path& path) {
  if (fs::is_regular_file(path)) return {""};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(path));
  return files;
}

std::string bytes_of(const fs::path& root, const fs::path& file) {
  return read_file(file.empty() ? root : root / file, UINT64_MAX);
}

TEST(RepairDataset, OneThatIsWholeComesOutTheSame) {
  const TempFolder folder;
  for (const std::string& format : kDatasetFormats) {
    const fs::path set = record(folder, format), target = folder.path() / ("new." + format);
    const ProgramResult result = repair(set, target);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("200 episodes recovered in "), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(", 0 left out"), std::string::npos) << result.out;
    ASSERT_EQ(files_below(set).size(), files_below(target).size());
    for (const fs::path& file : files_below(set))
      EXPECT_EQ(bytes_of(set, file), bytes_of(target, file)) << format << " " << file;
  }
}

// How a format with a group an episode calls what is compared.
struct GroupNames {
  const char *format, *file, *parent, *prefix;
  std::vector<const char*> leaves;
};
const GroupNames kGroups[] = {
    {"minari", "data/main_data.hdf5", "/", "episode_", {"observations", "actions", "rewards", "terminations"}},
    {"robomimic", "", "/data/", "demo_", {"obs/flat", "next_obs/flat", "actions", "rewards", "terminated"}}};

// The bytes of every episode by its world, of which the recording plays one each.
std::map<std::int64_t, std::string> episodes_of(const fs::path& file, const GroupNames& names) {
  const Hdf5Quiet quiet;
  std::map<std::int64_t, std::string> episodes;
  const Hdf5Handle opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), file.string());
  for (const std::string& name : hdf5_names(opened.get(), names.parent, file.string())) {
    const Hdf5Handle group(H5Gopen2(opened.get(), (names.parent + name).c_str(), H5P_DEFAULT), name);
    std::string bytes;
    for (const char* leaf : names.leaves) {
      const Hdf5Handle set(H5Dopen2(group.get(), leaf, H5P_DEFAULT), leaf), type(H5Dget_type(set.get()), leaf);
      std::string values(H5Dget_storage_size(set.get()), '\0');
      hdf5_check(H5Dread(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), leaf);
      bytes += values;
    }
    EXPECT_TRUE(episodes.emplace(read_integer_attribute(group.get(), "world", name), bytes).second) << name;
  }
  return episodes;
}

fs::path file_of(const fs::path& set, const GroupNames& names) { return *names.file ? set / names.file : set; }

// What repair prints of it: the number before `word`.
std::int64_t number_before(const std::string& text, const std::string& word) {
  const std::size_t end = text.find(word), begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return end == std::string::npos ? -1 : std::stoll(text.substr(begin, end - begin));
}

TEST(RepairDataset, OfFilesThatWereCutOffWhatComesBackIsWhole) {
  const TempFolder folder;
  for (const GroupNames& names : kGroups) {
    const fs::path set = record(folder, names.format);
    const auto whole = episodes_of(file_of(set, names), names);
    ASSERT_EQ(whole.size(), 200u);
    const std::uintmax_t bytes = fs::file_size(file_of(set, names));
    std::set<std::size_t> recovered = {};
    for (const int percent : {99, 95, 90, 70, 50, 20, 1}) {
      SCOPED_TRACE(std::string(names.format) + " " + std::to_string(percent));
      const fs::path cut = folder / "cut", target = folder / "new";
      fs::copy(set, cut, fs::copy_options::recursive);
      fs::resize_file(file_of(cut, names), bytes * static_cast<std::uintmax_t>(percent) / 100);
      const ProgramResult result = repair(cut, target);
      if (result.status == 0) {
        const auto episodes = episodes_of(file_of(target, names), names);
        EXPECT_EQ(number_before(result.out, " episodes recovered"), static_cast<std::int64_t>(episodes.size()));
        EXPECT_EQ(number_before(result.out, " left out"), 200 - static_cast<std::int64_t>(episodes.size()));
        for (const auto& [world, values] : episodes) EXPECT_TRUE(whole.at(world) == values) << world;
        recovered.insert(episodes.size());
      } else {
        EXPECT_EQ(result.status, 2);
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(target));
        recovered.insert(0);
      }
      fs::remove_all(cut);
      fs::remove_all(target);
    }
    EXPECT_EQ(*recovered.begin(), 0u) << names.format;  // of a hundredth nothing
    EXPECT_GT(*recovered.rbegin(), 0u) << names.format;
  }
}

}  // namespace
}  // namespace hotloop
