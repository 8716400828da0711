// `hotloop train --algo bc`: datasets are proven by the policies that are learnt from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "sim/core/device.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 300;  // [s] of one program; a busy machine is no failure

void run(Words words) {
  const ProgramResult result = run_program(words, ".", kLimit);
  ASSERT_EQ(result.status, 0) << result.err;
}

double return_of(const fs::path& run) {
  const ProgramResult result = run_program(
      {"play", run.string(), "--episodes", "400", "--seed", "99", "--device", "cpu", "--json"}, ".", kLimit);
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::json::parse(result.out).at("return_mean");
}

// The clone of an expert of the task's default configuration, trained for `expert_steps`, within 5 % of its return.
void expect_clone(const std::string& task, const char* expert_steps, const char* episodes, const char* steps) {
  const TempFolder folder;
  const std::string expert = folder / "expert", dataset = folder / "dataset", clone = folder / "clone";
  run({"train", task, "--device", "cpu", "--quiet", "--run-dir", expert, "--total-timesteps", expert_steps});
  run({"record", expert, "--format", "tensordict", "-o", dataset, "--episodes", episodes, "--device", "cpu"});
  run({"train", task, "--algo", "bc", "--dataset", dataset, "--device", "cpu", "--quiet", "--run-dir", clone,
       "--total-timesteps", steps});
  const double wanted = return_of(expert), got = return_of(clone);
  EXPECT_GE(got, wanted - 0.05 * std::abs(wanted)) << "the expert's return is " << wanted;
}

TEST(Bc, CartPolesCloneBalancesAsItsExpert) { expect_clone("CartPole-v1", "100000", "50", "300000"); }
TEST(Bc, SlowPendulumsCloneSwingsUpAsItsExpert) { expect_clone("Pendulum-v1", "1000000", "200", "2000000"); }

TEST(Bc, AResumedCloningHasTheSameBits) {
  const TempFolder folder;
  const std::string dataset = folder / "dataset";
  run({"record", "CartPole-v1", "--random", "--format", "tensordict", "-o", dataset, "--episodes", "20", "--device",
       "cpu"});
  const Words bc = {"--algo", "bc", "--dataset", dataset, "--exp-name", "bc"};
  run(small_run(folder / "whole", bc));
  Words half = bc;
  half.insert(half.end(), {"--total-timesteps", "7680", "--lr-schedule", "constant"});
  Words whole = bc;
  whole.insert(whole.end(), {"--lr-schedule", "constant"});
  run(small_run(folder / "half", half));
  run({"train", "--resume", folder / "half", "--total-timesteps", "15360"});
  run(small_run(folder / "constant", whole));
  expect_same_checkpoint(folder / "constant/latest.safetensors", folder / "half/latest.safetensors");
}

TEST(Bc, GpuSameSeedSameBitsCapturedOrNot) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const TempFolder folder;
  const std::string dataset = folder / "dataset";
  run({"record", "Pendulum-v1", "--random", "--format", "tensordict", "-o", dataset, "--episodes", "20", "--device",
       "cuda"});
  for (const char* capture : {"on", "off"})
    run({"train", "Pendulum-v1", "--algo", "bc", "--dataset", dataset, "--device", "cuda", "--capture", capture,
         "--run-dir", folder / capture, "--num-minibatches", "4", "--total-timesteps", "81920", "--quiet"});
  const auto metrics = [&](const char* name) { return read_file(folder.path() / name / "metrics.csv", 1 << 24); };
  EXPECT_EQ(metrics("on"), metrics("off"));
}

TEST(Bc, RefusesWhatMakesNoSense) {
  const auto refused = [](Words words, const std::string& message) {
    const ProgramResult result = run_program(words, ".", kLimit);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  };
  const TempFolder folder;
  const std::string run = folder / "run";
  refused({"train", "CartPole-v1", "--algo", "bc", "--run-dir", run}, "algo bc: needs a dataset");
  refused({"train", "CartPole-v1", "--dataset", "x", "--run-dir", run}, "dataset x: is of algo bc");
  refused({"train", "CartPole-v1", "--algo", "bc", "--dataset", folder / "none", "--run-dir", run}, "is not a folder");
  const fs::path dataset = folder / "dataset";
  ASSERT_EQ(run_program({"record", "Pendulum-v1", "--random", "--format", "tensordict", "-o", dataset.string(),
                         "--episodes", "1", "--device", "cpu"},
                        ".", kLimit)
                .status,
            0);
  const auto bc = [&](const char* task) {
    return Words{"train", task, "--algo", "bc", "--dataset", dataset.string(), "--device", "cpu", "--run-dir", run};
  };
  refused(bc("CartPole-v1"), "must be [steps, 4] (it is a dataset of Pendulum-v1, not of CartPole-v1)");
  fs::rename(dataset / "next", folder / "moved");
  refused(bc("Pendulum-v1"), "dataset/next/meta.json: is missing: the dataset is not whole");
  EXPECT_FALSE(fs::exists(run));
}

}  // namespace
}  // namespace hotloop
