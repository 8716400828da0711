// What the mouse does in the picture.
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "tests/viz/ui_driver.h"

namespace hotloop {
namespace {

class UiMouse : public testing::Test {
 protected:
  UiMouse() : source(full_source()), ui(source) {
    ui.view().pacer.paused = true;
    ui.view().alone = true;
    ui.view().camera.set_free();
    ui.pictures(3);
  }
  // A point of the picture over which a body is drawn.
  ImVec2 body(int frame) {
    const float* p = view().frames[static_cast<std::size_t>(frame)].pos;
    glm::vec2 pixel;
    EXPECT_TRUE(project(view().drawn_camera, {p[0], p[1], p[2]}, static_cast<int>(view().image_width),
                        static_cast<int>(view().image_height), pixel));
    return {view().image_x + pixel.x, view().image_y + pixel.y};
  }
  ImVec2 corner() { return {view().image_x + 40, view().image_y + 60}; }
  void drag(ImVec2 from, ImVec2 delta, ImGuiMouseButton button, ImGuiKeyChord mods = 0) {
    ui.use([&](ImGuiTestContext& user) {
      user.MouseMoveToPos(from);
      if (mods) user.KeyDown(mods);
      user.MouseDown(button);
      user.MouseMoveToPos(ImVec2(from.x + delta.x, from.y + delta.y));
      user.Yield(2);
      held = view().perturb.active();
      user.MouseUp(button);
      if (mods) user.KeyUp(mods);
      user.Yield(2);
    });
  }
  View& view() { return ui.view(); }

  FakeSource source;
  UiDriver ui;
  bool held = false;  // a body, at the end of the drag
};

TEST_F(UiMouse, LeftDragTurns) {
  const Camera before = view().camera.orbit();
  drag(corner(), {view().image_height / 4, 0}, ImGuiMouseButton_Left);
  EXPECT_NEAR(std::remainder(view().camera.orbit().azimuth - before.azimuth + 45, 360), 0, 1);
  EXPECT_NEAR(view().camera.orbit().elevation, before.elevation, 0.1);
  drag(corner(), {0, view().image_height / 8}, ImGuiMouseButton_Left);
  EXPECT_NEAR(view().camera.orbit().elevation, before.elevation - 22.5, 1);
}

TEST_F(UiMouse, RightDragMovesWhatIsSeenWithTheMouse) {
  const ImVec2 before = body(1);
  drag(corner(), {50, 30}, ImGuiMouseButton_Right);
  ui.pictures(1);
  EXPECT_NEAR(body(1).x - before.x, 50, 8);
  EXPECT_NEAR(body(1).y - before.y, 30, 8);
}

TEST_F(UiMouse, ShiftRightDragStaysOnTheGround) {
  const glm::vec3 before = view().camera.orbit().lookat;
  drag(corner(), {30, 40}, ImGuiMouseButton_Right, ImGuiMod_Shift);
  EXPECT_NEAR(view().camera.orbit().lookat.z, before.z, 1e-5);
  EXPECT_GT(glm::length(view().camera.orbit().lookat - before), 0.05f);
}

TEST_F(UiMouse, WheelAndMiddleDragZoom) {
  const float before = view().camera.orbit().distance;
  ui.use([&](ImGuiTestContext& user) {
    user.MouseMoveToPos(corner());
    user.MouseWheelY(2);
    user.Yield(2);
  });
  EXPECT_LT(view().camera.orbit().distance, 0.9f * before);
  drag(corner(), {0, 80}, ImGuiMouseButton_Middle);
  EXPECT_GT(view().camera.orbit().distance, 0.9f * before);
}

TEST_F(UiMouse, DoubleClickSelectsBodyAndWorld) {
  view().alone = false;
  ui.pictures(2);
  view().select_world(4);
  ui.pictures(2);
  const Float3 offset = Scene::world_offset(view().grid(), source.visual(), 4);
  const float* p = view().frames[2].pos;
  glm::vec2 pixel;
  ASSERT_TRUE(project(view().drawn_camera, {p[0] + offset[0], p[1] + offset[1], p[2] + offset[2] + 0.25f},
                      static_cast<int>(view().image_width), static_cast<int>(view().image_height), pixel));
  view().selected = 0;
  ui.use([&](ImGuiTestContext& user) {
    user.MouseMoveToPos(ImVec2(view().image_x + pixel.x, view().image_y + pixel.y));
    user.MouseDoubleClick(0);
    user.Yield(2);
  });
  EXPECT_EQ(view().selected, 4);
  EXPECT_GE(view().selected_frame, 1);
}

TEST_F(UiMouse, RightDoubleClickLooksThere) {
  ui.use([&](ImGuiTestContext& user) {
    user.MouseMoveToPos(body(1));
    user.MouseDoubleClick(1);
    user.Yield(2);
  });
  EXPECT_NEAR(view().camera.orbit().lookat.x, source.qpos[0], 0.35);
  EXPECT_NEAR(view().camera.orbit().lookat.z, source.qpos[2], 0.35);
}

TEST_F(UiMouse, CtrlRightDoubleClickFollows) {
  ui.use([&](ImGuiTestContext& user) {
    user.MouseMoveToPos(body(1));
    user.KeyDown(ImGuiMod_Ctrl);
    user.MouseDoubleClick(1);
    user.KeyUp(ImGuiMod_Ctrl);
    user.Yield(2);
  });
  EXPECT_EQ(view().camera.mode(), CameraControl::Mode::track);
  EXPECT_EQ(view().selected_frame, view().camera.frame());
}

TEST_F(UiMouse, CtrlRightDragPullsARunningBody) {
  view().pacer.paused = false;
  view().selected_frame = 1;
  drag(body(1), {80, 0}, ImGuiMouseButton_Right, ImGuiMod_Ctrl);
  EXPECT_TRUE(held);
  ASSERT_GE(source.pushes.size(), 2u);
  float largest = 0;
  for (const FakeSource::Push& push : source.pushes) {
    EXPECT_EQ(push.frame, 1);
    largest = std::max(largest, std::hypot(push.force[0], push.force[1], push.force[2]));
  }
  EXPECT_GT(largest, 10);
  const FakeSource::Push last = source.pushes.back();
  EXPECT_EQ(last.force, (Float3{0, 0, 0})) << "let go";
  EXPECT_FALSE(view().perturb.active());
}

TEST_F(UiMouse, CtrlLeftDragTurnsARunningBody) {
  view().pacer.paused = false;
  view().selected_frame = 1;
  drag(body(1), {60, 0}, ImGuiMouseButton_Left, ImGuiMod_Ctrl);
  float largest = 0;
  for (const FakeSource::Push& push : source.pushes) {
    EXPECT_EQ(push.force, (Float3{0, 0, 0}));
    largest = std::max(largest, std::hypot(push.torque[0], push.torque[1], push.torque[2]));
  }
  EXPECT_GT(largest, 1);
}

TEST_F(UiMouse, CtrlDragMovesAPausedBody) {
  view().selected_frame = 1;
  const std::vector<float> before = source.qpos;
  drag(body(1), {60, 0}, ImGuiMouseButton_Right, ImGuiMod_Ctrl);
  EXPECT_TRUE(source.pushes.empty() || source.pushes.back().force == (Float3{0, 0, 0}));
  EXPECT_EQ(source.posed_world, 0);
  EXPECT_GT(std::hypot(source.qpos[0] - before[0], source.qpos[1] - before[1]), 0.1);
  EXPECT_EQ(source.qpos[7], before[7]) << "only the body that floats moves";
  const std::vector<float> moved = source.qpos;
  drag(body(1), {60, 0}, ImGuiMouseButton_Left, ImGuiMod_Ctrl);
  EXPECT_LT(source.qpos[3], 0.99f);
}

TEST_F(UiMouse, SaysThatBodiesCannotBePushed) {
  source.what.can_perturb = false;
  view().pacer.paused = false;
  view().selected_frame = 1;
  const auto said = [&] {
    return std::count(view().messages.begin(), view().messages.end(), "the bodies of these worlds cannot be pushed");
  };
  drag(body(1), {80, 0}, ImGuiMouseButton_Right, ImGuiMod_Ctrl);
  EXPECT_EQ(said(), 1) << "once a drag";
  EXPECT_FALSE(held) << "an arrow that pulls at nothing";
  EXPECT_TRUE(source.pushes.empty());
  drag(body(1), {80, 0}, ImGuiMouseButton_Right, ImGuiMod_Ctrl);
  EXPECT_EQ(said(), 2);
}

TEST_F(UiMouse, PanelsKeepTheMouse) {
  const Camera before = view().camera.orbit();
  ui.use([&](ImGuiTestContext& user) {
    user.MouseMove("//Simulation/Speed");
    user.MouseWheelY(3);
    user.MouseDragWithDelta(ImVec2(20, 0));
  });
  EXPECT_EQ(view().camera.orbit().azimuth, before.azimuth);
  EXPECT_EQ(view().camera.orbit().distance, before.distance);
}

}  // namespace
}  // namespace hotloop
