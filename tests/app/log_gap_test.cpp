// Logs of which a part is gone: every command that reads one says so, and in its exit status.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/file.h"
#include "data/log/log_reader.h"
#include "data/log/log_writer.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 300;  // [s]; a busy machine is no failure

class LogGap : public testing::Test {
 protected:
  // a.h5 to a.3.h5, at least.
  void SetUp() override {
    const ProgramResult trained =
        run_program(small_run(folder_ / "run",
                              {"--log-trajectories", (folder_ / "a.h5").string(), "--log-keys", "all,state",
                               "--log-segment-gib", "0.001", "--total-timesteps", "81920", "--eval-interval", "0"}),
                    ".", kLimit);
    ASSERT_EQ(trained.status, 0) << trained.err;
    ASSERT_GE(log_segments(folder_ / "a.h5").size(), 4u);
  }

  ProgramResult run(const std::vector<std::string>& words) const { return run_program(words, folder_.path(), kLimit); }

  // What the commands make of a log with `problem`, of which an unknown number of iterations is gone.
  void expect_told(const std::string& problem) const {
    SCOPED_TRACE(problem);
    const auto iterations = LogReader(folder_ / "a.h5").iterations().size();
    const ProgramResult inspected = run({"inspect", "a.h5"});
    EXPECT_EQ(inspected.status, 1);
    EXPECT_NE(inspected.out.find("problem: a" + problem), std::string::npos) << inspected.out;
    EXPECT_NE(inspected.out.find(std::to_string(iterations) + " iterations of 32"), std::string::npos) << inspected.out;
    const ProgramResult replayed = run({"replay", "a.h5", "--check"});
    EXPECT_EQ(replayed.status, 1);
    EXPECT_NE(replayed.out.find("problem: a" + problem), std::string::npos) << replayed.out;
    EXPECT_TRUE(replayed.out.ends_with("\nequal, bit by bit, as far as the log could be read\n")) << replayed.out;
    const ProgramResult json = run({"replay", "a.h5", "--json"});
    EXPECT_EQ(json.status, 1);
    const auto object = nlohmann::json::parse(json.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << json.out;
    EXPECT_EQ(object["problems"].size(), 1u);
    const ProgramResult repaired = run({"repair", "a.h5", "-o", "new.h5"});
    EXPECT_EQ(repaired.status, 0) << repaired.err;
    EXPECT_NE(repaired.out.find("problem: a" + problem), std::string::npos) << repaired.out;
    EXPECT_NE(repaired.out.find(std::to_string(iterations) + " iterations recovered in new.h5, an unknown number left "
                                                             "out\n"),
              std::string::npos)
        << repaired.out;
    EXPECT_EQ(LogReader(folder_ / "new.h5").iterations().size(), iterations);
    const ProgramResult converted = run({"convert", "a.h5", "--to", "d4rl", "-o", "new.hdf5"});
    EXPECT_EQ(converted.status, 1) << converted.err;
    EXPECT_NE(converted.err.find("a" + problem), std::string::npos) << converted.err;
    EXPECT_NE(converted.err.find("an unknown number in parts of the log that cannot be read"), std::string::npos)
        << converted.err;
    EXPECT_EQ(run({"inspect", "new.hdf5"}).status, 0);
    fs::remove(folder_ / "new.h5");
    fs::remove(folder_ / "new.hdf5");
  }

  const TempFolder folder_;
};

TEST_F(LogGap, AMissingOrDamagedSegmentIsAProblemOfEveryCommand) {
  write_file(folder_ / "a.1.h5", "no HDF5");
  expect_told(".1.h5: ");
  fs::remove(folder_ / "a.1.h5");
  expect_told(".1.h5 is missing; a.2.h5 ");
}

TEST_F(LogGap, ALogWithoutIterationsIsNotEqual) {
  const LogReader log(folder_ / "a.h5");
  const LogSpec spec = spec_like(log);
  {
    LogWriterOptions options;
    options.flush_seconds = 0;
    LogWriter writer(folder_ / "b.h5", spec, options);
    writer.tick();
    fs::copy_file(folder_ / "b.h5.part", folder_ / "c.h5.part");
  }
  const ProgramResult replayed = run({"replay", "c.h5", "--check"});
  EXPECT_EQ(replayed.status, 1) << replayed.err;
  EXPECT_NE(replayed.out.find("0 states compared\nnothing to compare\n"), std::string::npos) << replayed.out;
  EXPECT_EQ(run({"replay", "c.h5", "--json"}).status, 1);
}

}  // namespace
}  // namespace hotloop
