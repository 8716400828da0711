// `hotloop repair` of datasets.
#include <gtest/gtest.h>

#include "data/dataset/writer.h"
#include "data/file.h"
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

}  // namespace
}  // namespace hotloop
