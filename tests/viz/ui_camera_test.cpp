// Where cameras are.
#include "viz/ui/camera_control.h"

#include <gtest/gtest.h>

#include "tests/error_text.h"
#include "tests/viz/fake_source.h"

namespace hotloop {
namespace {

using Mode = CameraControl::Mode;

class UiCamera : public testing::Test {
 protected:
  UiCamera() : frames(4), control(source.visual()) { source.write_frames(0, 1, frames.data()); }
  Camera look(const Float3& offset = {}) { return control.camera(frames, offset); }

  FakeSource source;
  std::vector<Frame> frames;
  CameraControl control;
};

TEST_F(UiCamera, FollowsWhatTheModelSays) {
  EXPECT_EQ(control.mode(), Mode::track);
  frames[1].pos[0] = 7;
  const Camera camera = look({0, 3, 0});
  EXPECT_EQ(camera.lookat, glm::vec3(7, 3, 0.6f));
}

TEST_F(UiCamera, AGridGoesAlongWithItsSelectedWorld) {
  Camera first = start_camera(source.visual());
  first.lookat = {0, 1, 0.7f};
  control.align(first, true);
  frames[1].pos[0] = 7;
  EXPECT_EQ(look({3, 3, 0}).lookat, glm::vec3(7, 1, 0.7f));
  control.track(1);
  EXPECT_EQ(look({3, 3, 0}).lookat, glm::vec3(10, 3, 0.6f));
}

TEST_F(UiCamera, ModelsCameraStandsWhereItSays) {
  control.set_fixed("side");
  const Camera camera = look();
  EXPECT_EQ(camera.eye(), glm::vec3(0, -3, 1));
  const glm::vec3 ahead = camera.ray(0, 0, 1);  // 90 degrees about x: -z becomes y
  EXPECT_NEAR(ahead.y, 1, 1e-3);
  EXPECT_EQ(error_text([&] { control.set_fixed("chas"); }),
            "--camera chas: the model has no such camera (did you mean 'chase'?)");
  EXPECT_EQ(error_text([&] { control.set_fixed("beyond"); }),
            "--camera beyond: the model has no such camera (it has side, chase)");
}

TEST_F(UiCamera, TrackingCameraKeepsItsDirection) {
  control.set_fixed("chase");
  frames[1].pos[0] = 5;
  frames[1].quat[0] = 0;  // the body turned by 180 degrees
  frames[1].quat[3] = 1;
  const Camera camera = look();
  EXPECT_NEAR(camera.eye().x, 5, 1e-6);
  EXPECT_NEAR(camera.eye().y, -2, 1e-6);
  EXPECT_NEAR(camera.ray(0, 0, 1).y, 1, 1e-3);
}

TEST_F(UiCamera, FreeCameraGoesOnFromAModelsOne) {
  control.set_fixed("side");
  const Camera before = look();
  control.set_free();
  const Camera after = look();
  EXPECT_FALSE(after.posed);
  EXPECT_LT(glm::length(after.eye() - before.eye()), 1e-3f);
  EXPECT_GT(glm::dot(after.ray(0, 0, 1), before.ray(0, 0, 1)), 0.9999f);
}

TEST_F(UiCamera, CyclesThroughAll) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(control.name());
    control.cycle(1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"track base", "side", "chase", "free", "track base"}));
}

TEST_F(UiCamera, PanKeepsThePointUnderTheMouse) {
  control.set_free();
  const Camera before = look();
  glm::vec2 a, b;
  ASSERT_TRUE(project(before, before.lookat, 800, 400, a));
  const glm::vec3 point = before.lookat;
  control.pan(0.1f, 0.05f, false);
  ASSERT_TRUE(project(look(), point, 800, 400, b));
  EXPECT_NEAR(b.x - a.x, 40, 0.5);
  EXPECT_NEAR(b.y - a.y, 20, 0.5);
}

}  // namespace
}  // namespace hotloop
