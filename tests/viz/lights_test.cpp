// Where lights of a model are, beside MuJoCo's light_xpos and light_xdir of the same pose.
#include "viz/scene/lights.h"

#include <gtest/gtest.h>

#include "data/file.h"
#include "tests/temp_folder.h"
#include "viz/source/world_source.h"

namespace hotloop {
namespace {

constexpr const char* kModel = R"(<mujoco><option timestep="0.01"/><worldbody>
<light name="aimed" mode="targetbody" target="arm" pos="0 0 3"/>
<light name="aimed_com" mode="targetbodycom" target="base" pos="1 1 2" type="spot"/>
<body name="base" pos="0 0 1"><freejoint/><geom size=".2" mass="1"/>
<light name="fixed" pos=".1 .2 .3" dir="0 1 -1"/>
<light name="tracks" mode="track" pos="0 .5 2" dir="0 -.2 -1"/>
<light name="tracks_com" mode="trackcom" pos="0 0 2" dir=".3 0 -1"/>
<light name="carried" mode="targetbody" target="arm" pos="0 0 .5"/>
<body name="arm" pos="1 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".1" fromto="0 0 0 .6 0 0" mass="2"/></body>
</body></worldbody></mujoco>)";

struct Expected {
  const char* name;
  glm::vec3 pos, dir;
};

TEST(Lights, AreWhereMuJoCoHasThem) {
  const TempFolder folder;
  write_file(folder / "lights.xml", kModel);
  const std::unique_ptr<WorldSource> source =
      open_source({.what = folder / "lights.xml", .worlds = 1, .device = "cpu"});
  source->set_qpos(0, std::vector<float>{0.5f, -0.25f, 1.5f, 0.8f, 0, 0.6f, 0, 0.7f});
  const VisualModel& model = source->visual();
  std::vector<Frame> frames(model.frames.size());
  source->write_frames(0, 1, frames.data());
  const Expected expected[] = {{"aimed", {0, 0, 3}, {0.3008356f, -0.09642166f, -0.9487891f}},
                               {"aimed_com", {1, 1, 2}, {-0.2116737f, -0.6712267f, -0.7103865f}},
                               {"fixed", {0.816f, -0.05f, 1.488f}, {-0.6788225f, 0.7071068f, -0.1979899f}},
                               {"tracks", {0.5f, 0.25f, 3.5f}, {0, -0.1961161f, -0.9805807f}},
                               {"tracks_com", {-0.2608586f, -0.25f, 2.677074f}, {0.2873479f, 0, -0.9578263f}},
                               {"carried", {0.98f, -0.25f, 1.64f}, {-0.1788854f, 0, -0.9838699f}}};
  ASSERT_EQ(model.lights.size(), std::size(expected));
  for (std::size_t i = 0; i < model.lights.size(); ++i) {
    const LightPose pose = light_pose(model, model.lights[i], frames);
    EXPECT_LT(glm::length(pose.pos - expected[i].pos), 1e-5f) << expected[i].name;
    EXPECT_LT(glm::length(glm::normalize(pose.dir) - expected[i].dir), 1e-5f) << expected[i].name;
  }
}

}  // namespace
}  // namespace hotloop
