// Run folders that older versions wrote (tests/golden/checkpoint): trainings of two iterations with the checkpoint of
// the first.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/file.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class OldCheckpoint : public testing::Test {
 protected:
  fs::path copy_of(const std::string& name) {
    fs::copy(fs::path(HOTLOOP_SOURCE_DIR "/tests/golden/checkpoint") / name, folder_ / "run");
    return folder_ / "run";
  }
  void expect_plays(const fs::path& run) {
    const ProgramResult played = run_program({"play", run.string(), "--episodes", "3", "--device", "cpu", "--json"});
    EXPECT_EQ(played.status, 0) << played.err;
    EXPECT_NE(played.out.find("\"episodes\":3"), std::string::npos) << played.out;
  }
  const TempFolder folder_;
};

TEST_F(OldCheckpoint, Format1PlaysAndGoesOn) {
  const fs::path run = copy_of("format_1/CartPole-v1");
  expect_plays(run);
  const ProgramResult resumed = run_program({"train", "--resume", run.string()}, ".", 60);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const std::string rows = read_file(run / "metrics.csv", 1 << 20);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 5) << "header, two iterations, two evaluations";
}

TEST_F(OldCheckpoint, Format1LacksTheTermsOfRewards) {
  const fs::path run = copy_of("format_1/InvertedPendulum-v5");
  expect_plays(run);
  check_bad_input({{"train", "--resume", "run"}, "format 1 lacks the sums of the reward's terms"}, folder_.path());
}

}  // namespace
}  // namespace hotloop
