#include "viz/scene/scene.h"

#include <cmath>

#include "tests/viz/stage.h"

namespace hotloop {
namespace {

using SceneTest = GlTest;

TEST_F(SceneTest, DrawsARobotOnItsFloor) {
  StillSource source = spider(1);
  Shot shot;
  shot.camera = start_camera(source.visual());
  shot.camera.azimuth = 120;
  shot.width = 640;
  shot.height = 480;
  const Picture picture = shoot(source, shot);
  keep("spider", picture);
}

}  // namespace
}  // namespace hotloop
