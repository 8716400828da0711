// Damage over which HDF5's library itself crashes or loops: every command that reads a log says so in one line. The
// damage is made here, in logs that were just recorded, where the library (1.10) does not check what it reads.
#include <gtest/gtest.h>

#include <cstring>

#include "data/file.h"
#include "data/hdf5_handle.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kLimit = 300;  // [s]; a busy machine is no failure

// Whether this library is one whose crashes are known; another may give a reason, which is a line too.
constexpr bool kKnown = !H5_VERSION_GE(1, 12, 0);

std::string recorded_log(const fs::path& folder) {
  const fs::path log = folder / "whole.h5";
  const ProgramResult trained = run_program(small_run(folder / "run", {"--log-trajectories", log.string(), "--log-keys",
                                                                       "all,state", "--total-timesteps", "512"}),
                                            ".", kLimit);
  EXPECT_EQ(trained.status, 0) << trained.err;
  return read_file(log, UINT64_MAX);
}

// The text of an attribute lies in a heap, as its entry of a number: one that no heap has.
std::string with_wrong_heap_entry(std::string log) {
  const std::string name("hotloop_version\0", 16);
  constexpr std::size_t kType = 24, kSpace = 8, kLengthAndHeap = 12;  // [bytes] between the name and the number
  const std::size_t type = log.find(name) + name.size();
  EXPECT_EQ(log[type], '\x19') << "is no text of any length";
  log[type + kType + kSpace + kLengthAndHeap + 2] = '\x97';
  return log;
}

// The free space of a heap ends it; where its size is 0, the library never comes to the end.
std::string with_endless_heap(std::string log) {
  std::size_t at = log.find("GCOL") + 16;
  for (;;) {
    std::uint16_t number = 0;
    std::uint64_t bytes = 0;
    std::memcpy(&number, &log.at(at), sizeof number);
    std::memcpy(&bytes, &log.at(at + 8), sizeof bytes);
    if (number == 0) break;
    at += 16 + (bytes + 7) / 8 * 8;
  }
  std::memset(&log.at(at + 8), 0, 8);
  return log;
}

TEST(DamagedLog, ACrashOfTheLibraryIsOneLine) {
  const TempFolder folder;
  const std::string damaged = with_wrong_heap_entry(recorded_log(folder.path()));
  write_file(folder / "log.h5", damaged);
  const std::string line = kKnown ? "log.h5: is damaged: HDF5's library crashes on it" : "log.h5: ";
  check_bad_input({{"replay", "log.h5", "--check"}, line}, folder.path());
  check_bad_input({{"convert", "log.h5", "--to", "d4rl", "-o", "out.hdf5"}, line}, folder.path());
  check_bad_input({{"repair", "log.h5", "-o", "new.h5"}, line}, folder.path());
  if (kKnown) check_bad_input({{"inspect", "log.h5"}, line}, folder.path());
}

TEST(DamagedLog, SlowALoopOfTheLibraryIsEnded) {
  if (!kKnown) GTEST_SKIP() << "this HDF5 may not loop";
  const TempFolder folder;
  write_file(folder / "log.h5", with_endless_heap(recorded_log(folder.path())));
  const ProgramResult result = run_program({"replay", "log.h5"}, folder.path(), kLimit);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "hotloop: log.h5: reading it takes more than 10 s: is it damaged?\n");
}

}  // namespace
}  // namespace hotloop
