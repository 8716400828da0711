// Our own models of Gymnasium's tasks against Gymnasium's models, and against MuJoCo's steps that the goldens hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

const std::string kTests = HOTLOOP_SOURCE_DIR "/tests/";
const std::string kAssets = HOTLOOP_SOURCE_DIR "/assets/mjcf";

// Runs a script of tests/mujoco elsewhere: MuJoCo leaves a log of its warnings in the current folder.
bool passes(const std::string& script, const std::string& arguments) {
  const TempFolder folder;
  const std::string command =
      "cd '" + folder.path().string() + "' && " + test_python() + " '" + kTests + "mujoco/" + script + "' " + arguments;
  return std::system(command.c_str()) == 0;
}

TEST(MujocoAssets, EqualGymnasiumsInEveryPhysicalField) {
  if (!python_has("gymnasium.envs.mujoco"))
    GTEST_SKIP() << test_python() << " has no gymnasium (1.4.0) with mujoco (4.0.0)";
  EXPECT_TRUE(passes("compare_assets.py", "'" + kAssets + "'"));
}

TEST(MujocoAssets, StepAsTheGoldensSay) {
  if (!python_has("mujoco, safetensors")) GTEST_SKIP() << test_python() << " has no mujoco (4.0.0) or no safetensors";
  EXPECT_TRUE(passes("replay_golden.py", "'" + kAssets + "' '" + kTests + "golden/gymnasium_mujoco'"));
}

}  // namespace
}  // namespace hotloop
