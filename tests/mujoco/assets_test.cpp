// Our own models of Gymnasium's tasks, compiled, against Gymnasium's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

TEST(MujocoAssets, EqualGymnasiumsInEveryPhysicalField) {
  if (!python_has("gymnasium.envs.mujoco")) {
    GTEST_SKIP() << test_python() << " has no gymnasium (1.4.0) with mujoco (4.0.0)";
  }
  // MuJoCo leaves a log of its warnings in the current folder
  const TempFolder folder;
  const std::string command = "cd '" + folder.path().string() + "' && " + test_python() +
                              " '" HOTLOOP_SOURCE_DIR "/tests/mujoco/compare_assets.py' '" HOTLOOP_SOURCE_DIR
                              "/assets/mjcf'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace hotloop
