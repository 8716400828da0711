#include "train/member_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/file.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "train/checkpoint.h"
#include "train/run_dir.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class Member : public testing::Test {
 protected:
  void SetUp() override {
    config_.task = "CartPole-v1";
    config_.run_dir = folder_.path().string();
    member_.create();
  }
  void write(std::int64_t iteration) {
    MetricRow row;
    row.iteration = counters_.iteration = iteration;
    row.global_step = counters_.global_step = config_.num_envs * config_.num_steps * iteration;
    row.values.emplace_back("eval_return", 1.0);
    member_.write_rows({row}, true);
  }
  std::int64_t rows() const {
    const std::string text = read_file(path_ / "metrics.csv", UINT64_MAX);
    return std::count(text.begin(), text.end(), '\n') - 1;
  }

  const TempFolder folder_;
  const fs::path path_ = folder_ / "members/0003";
  TrainConfig config_;
  RunCounters counters_;
  MemberFolder member_{path_, config_, "{}", {}};
};

TEST_F(Member, GoesOnInANewFolderOnceItsOwnWasRemoved) {
  for (const bool replaced : {false, true}) {
    write(1);
    write(2);
    member_.save_checkpoint({}, counters_);
    EXPECT_FALSE(member_.restore());
    fs::remove_all(path_.parent_path());
    if (replaced) fs::create_directories(path_);
    EXPECT_TRUE(member_.restore());
    EXPECT_FALSE(member_.restore());
    write(3);
    member_.save_best({}, counters_);
    member_.save_checkpoint({}, counters_);
    EXPECT_EQ(rows(), 1);
    EXPECT_TRUE(fs::exists(path_ / "config.toml"));
    EXPECT_TRUE(fs::exists(path_ / "machine.json"));
    EXPECT_TRUE(fs::exists(path_ / "best.safetensors"));
    // what a resumed population goes on from
    const CheckpointInfo info = checkpoint_info(read_checkpoint(path_ / "checkpoints/00000003.safetensors"));
    EXPECT_EQ(info.config.run_dir, "");
    member_.go_on(info.offsets);
    write(4);
    EXPECT_EQ(rows(), 2);
  }
}

// Members that have checkpoints of these iterations.
std::int64_t common(const TempFolder& folder, const std::vector<std::vector<int>>& members) {
  std::vector<fs::path> paths;
  for (const std::vector<int>& iterations : members) {
    paths.push_back(folder / std::to_string(paths.size()).c_str());
    fs::remove_all(paths.back());
    make_folder(paths.back() / "checkpoints");
    for (const int i : iterations)
      write_file(paths.back() / "checkpoints" / (std::to_string(10000000 + i).replace(0, 1, "0") + ".safetensors"), "");
  }
  return common_checkpoint(paths);
}

TEST(Members, GoOnFromTheirNewestCommonCheckpoint) {
  const TempFolder folder;
  EXPECT_EQ(common(folder, {{}, {}}), 0);
  EXPECT_EQ(common(folder, {{7, 14}, {7, 14}}), 14);
  EXPECT_EQ(common(folder, {{7, 14}, {14, 21}, {14, 21}}), 14) << "a kill while they were written";
  EXPECT_EQ(common(folder, {{7}, {}, {7}}), 0) << "a kill while the first were written";
  // begun anew, the others would be removed
  const std::string told = error_text([&] { common(folder, {{7, 14}, {}, {7, 14}}); });
  EXPECT_TRUE(told.starts_with((folder / "1").string() + ": holds no checkpoint of an iteration of which all")) << told;
}

TEST_F(Member, ANewFolderIsNotOneOfSomethingElse) {
  fs::remove_all(path_);
  make_folder(path_);
  write_file(path_ / "notes", "");
  EXPECT_FALSE(member_.restore());
  EXPECT_NE(error_text([&] { member_.create(); }).find("exists"), std::string::npos);
}

}  // namespace
}  // namespace hotloop
