// No iteration of a training on a GPU makes the host wait: twice the iterations, not one wait more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "sim/core/device.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

#ifndef HOTLOOP_SYNC_DETECTOR
#define HOTLOOP_SYNC_DETECTOR ""  // a build without CUDA has none
#endif

// The environment of programs started while it exists.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// Calls of each waiting function in a training of `iterations`, without evaluation or checkpoint before its end.
std::map<std::string, long> waits(const std::filesystem::path& folder, int iterations, const char* capture) {
  const std::string name = std::string(capture) + std::to_string(iterations);
  const std::filesystem::path counts = folder / (name + ".txt");
  {
    const Variable preload("LD_PRELOAD", HOTLOOP_SYNC_DETECTOR), file("HOTLOOP_SYNC_COUNTS", counts.string());
    const ProgramResult result =
        run_program(small_run(folder / name, {"--device", "cuda", "--num-envs", "256", "--total-timesteps",
                                              std::to_string(iterations * 256 * 32), "--eval-interval", "0",
                                              "--checkpoint-interval", "0", "--capture", capture,
                                              // the evaluation at the end waits once for every 32 steps it needs
                                              "--max-episode-steps", "30"}),
                    ".", 120);
    EXPECT_EQ(result.status, 0) << result.err;
  }
  std::map<std::string, long> found;
  std::ifstream in(counts);
  std::string call;
  for (long count = 0; in >> call >> count;) found[call] = count;
  return found;
}

class GpuSync : public testing::TestWithParam<const char*> {};

TEST_P(GpuSync, NoIterationWaits) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const TempFolder folder;
  const auto shorter = waits(folder.path(), 100, GetParam()), longer = waits(folder.path(), 200, GetParam());
  long all = 0;
  for (const auto& [call, count] : shorter) all += count;
  EXPECT_GT(all, 0) << "the detector has seen nothing: not even the waits of the start";
  EXPECT_EQ(shorter, longer);
}

INSTANTIATE_TEST_SUITE_P(Capture, GpuSync, testing::Values("on", "off"));

}  // namespace
}  // namespace hotloop
