// The window on worlds that are simulated: what keys, mouse and panels do reaches them, and what is drawn is where they
// are. Worlds beside it, stepped without a window, say what would have been.
#include <gtest/gtest.h>
#include <imgui.h>

#include <cmath>
#include <fstream>

#include "tests/temp_folder.h"
#include "tests/viz/ui_driver.h"

namespace hotloop {
namespace {

using Source = std::unique_ptr<WorldSource>;

std::vector<float> observations(WorldSource& source) {
  std::vector<float> all;
  source.read_observations(all);
  return all;
}

// The values of one world.
std::vector<float> of_world(const std::vector<float>& all, std::int64_t world, std::int64_t dim) {
  return {all.begin() + world * dim, all.begin() + (world + 1) * dim};
}

Source cart_poles() { return open_source({.what = "CartPole-v1", .worlds = 64, .seed = 7, .device = "cpu"}); }

TEST(UiCartPoles, TimeGoesForwardAndBackToTheSameBits) {
  const Source source = cart_poles(), beside = cart_poles();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.pictures(2);
  EXPECT_EQ(ui.view().grid().count, 64);
  EXPECT_EQ(source->position(), 0);
  ui.press(ImGuiKey_RightArrow, 3);
  for (int i = 0; i < 3; ++i) beside->step();
  EXPECT_EQ(source->position(), 3);
  const std::vector<float> third = observations(*source);
  EXPECT_EQ(third, observations(*beside));
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  EXPECT_EQ(source->position(), 13);
  EXPECT_NE(observations(*source), third);
  ui.press(ImGuiMod_Shift | ImGuiKey_LeftArrow);
  EXPECT_EQ(source->position(), 3);
  EXPECT_EQ(observations(*source), third);
  ui.press(ImGuiKey_Space);
  ui.pictures(30);
  EXPECT_GT(source->position(), 3);
}

TEST(UiCartPoles, EveryWorldIsDrawnWhereItIs) {
  const Source source = cart_poles();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  const std::vector<float> all = observations(*source);
  for (const std::int64_t world : {0, 1, 31, 63}) {
    ui.view().select_world(world);
    ui.pictures(1);
    ASSERT_EQ(ui.view().frames.size(), 3u);
    EXPECT_EQ(ui.view().frames[1].pos[0], all[static_cast<std::size_t>(4 * world)]) << world;
  }
}

TEST(UiCartPoles, AnotherSeedIsAnotherStart) {
  const Source source = cart_poles();
  const Source other = open_source({.what = "CartPole-v1", .worlds = 64, .seed = 99, .device = "cpu"});
  UiDriver ui(*source, UiDriver::paused_window());
  ui.press(ImGuiKey_RightArrow);
  ui.in("Simulation", [&](ImGuiTestContext& user) {
    user.ItemInputValue("##seed", 99);
    user.ItemClick("Restart with seed");
  });
  EXPECT_EQ(source->position(), 0);
  EXPECT_EQ(observations(*source), observations(*other));
}

TEST(UiCartPoles, AHandSteersOneWorldOnly) {
  const Source source = cart_poles(), beside = cart_poles();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.in("Worlds", [](ImGuiTestContext& user) { user.ItemInputValue("Selected", 3); });
  ui.in("Controls", [](ImGuiTestContext& user) { user.ItemClick("Take over"); });
  ui.view().set_action(0, 1);
  ui.press(ImGuiKey_RightArrow, 5);
  for (int i = 0; i < 5; ++i) beside->step();
  const std::vector<float> all = observations(*source), without = observations(*beside);
  for (std::int64_t world = 0; world < 64; ++world) {
    if (world == 3) continue;
    EXPECT_EQ(of_world(all, world, 4), of_world(without, world, 4)) << world;
  }
  EXPECT_GT(all[4 * 3 + 1], 0.7f) << "five pushes to the right";
  EXPECT_EQ(source->report(3).action, std::vector<float>{1});
}

TEST(UiCartPoles, BestAndWorstAreFound) {
  const Source source = cart_poles();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow, 5);
  ASSERT_EQ(source->position(), 50);
  std::vector<float> returns;
  source->read_returns(returns);
  const auto [worst, best] = std::minmax_element(returns.begin(), returns.end());
  ASSERT_LT(*worst, *best);
  ui.press(ImGuiMod_Ctrl | ImGuiKey_Period);
  EXPECT_EQ(returns[static_cast<std::size_t>(ui.view().selected)], *best);
  ui.in("Worlds", [](ImGuiTestContext& user) { user.ItemClick("Worst"); });
  EXPECT_EQ(returns[static_cast<std::size_t>(ui.view().selected)], *worst);
  EXPECT_FALSE(ui.view().recorder.episodes().empty()) << "some have fallen by now";
}

Source ants() { return open_source({.what = "Ant-v5", .worlds = 9, .seed = 2, .device = "cpu"}); }

TEST(UiAnts, AJointSetByHandIsWhereItIsDrawn) {
  const Source source = ants();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.view().select_world(4);
  ui.pictures(2);
  const std::vector<Frame> before = ui.view().frames;
  const VisualJoint& hip = source->visual().joints[1];
  const std::string slider = hip.name + "##" + std::to_string(hip.qpos);
  ui.in("Joints", [&](ImGuiTestContext& user) { user.ItemInputValue(slider.c_str(), 0.4f); });
  ui.pictures(2);
  const auto at = static_cast<std::size_t>(hip.qpos);
  EXPECT_EQ(source->report(4).qpos[at], 0.4f);
  EXPECT_LT(std::abs(source->report(3).qpos[at]), 0.11f) << "the start's noise";
  EXPECT_EQ(ui.view().frames[1].quat[0], before[1].quat[0]) << "the torso stays";
  int moved = 0;
  for (std::size_t i = 1; i < before.size(); ++i) moved += before[i].quat[0] != ui.view().frames[i].quat[0];
  EXPECT_EQ(moved, 2) << "the leg's two parts below that hip";
}

TEST(UiAnts, APullByTheMouseMovesOneOfThem) {
  const Source source = ants(), beside = ants();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.view().alone = true;
  ui.view().camera.set_free();
  ui.pictures(2);
  ui.view().selected_frame = 1;
  ui.use([&](ImGuiTestContext& user) {
    const float* at = ui.view().frames[1].pos;
    glm::vec2 pixel;
    ASSERT_TRUE(project(ui.view().drawn_camera, {at[0], at[1], at[2]}, static_cast<int>(ui.view().image_width),
                        static_cast<int>(ui.view().image_height), pixel));
    const ImVec2 torso(ui.view().image_x + pixel.x, ui.view().image_y + pixel.y);
    user.MouseMoveToPos(torso);
    user.KeyDown(ImGuiMod_Ctrl);
    ui.view().pacer.paused = false;  // else a drag would pose it
    // after a failure the engine's Yield() returns at once
    for (int i = 0; i < 1000 && source->position() < 1; ++i) user.Yield();
    user.MouseDown(ImGuiMouseButton_Right);
    user.MouseMoveToPos(ImVec2(torso.x + 90, torso.y));
    for (int i = 0; i < 1000 && source->position() < 8; ++i) user.Yield();
    ui.view().pacer.paused = true;
    user.MouseUp(ImGuiMouseButton_Right);
    user.KeyUp(ImGuiMod_Ctrl);
  });
  while (beside->position() < source->position()) beside->step();
  const std::vector<float> pulled = source->report(0).qpos, alone = beside->report(0).qpos;
  EXPECT_GT(std::hypot(pulled[0] - alone[0], pulled[1] - alone[1]), 0.02f);
  for (std::int64_t world = 1; world < 9; ++world)
    EXPECT_EQ(source->report(world).qpos, beside->report(world).qpos) << world;
}

TEST(UiAnts, TheirContactsAreListed) {
  const Source source = ants();
  UiDriver ui(*source, UiDriver::paused_window());
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow, 3);
  ASSERT_EQ(source->position(), 30);
  std::int64_t world = 0;  // one that has come down
  while (world < 8 && source->contacts(world).empty()) ++world;
  const std::size_t contacts = source->contacts(world).size();
  ASSERT_GT(contacts, 0u);
  ui.view().select_world(world);
  ui.press(ImGuiKey_C);
  EXPECT_TRUE(ui.view().flags.contacts);
  ui.pictures(2);
  ui.in("Contacts", [](ImGuiTestContext& user) { user.Yield(2); });
  EXPECT_EQ(source->contacts(world).size(), contacts) << "looking changes nothing";
}

// A ball on a slide above the floor, and a motor that can hold it.
constexpr const char* kLift = R"(<mujoco model="lift">
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="ball" pos="0 0 1">
      <joint name="height" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="lift" joint="height" ctrllimited="true" ctrlrange="-50 50"/></actuator>
  <keyframe><key name="high" qpos="2" qvel="0.5"/></keyframe>
</mujoco>
)";

class UiModel : public testing::Test {
 protected:
  UiModel() {
    std::ofstream(folder / "lift.xml") << kLift;
    source = open_source({.what = (folder / "lift.xml").string(), .worlds = 2, .device = "cpu"});
    ui = std::make_unique<UiDriver>(*source, UiDriver::paused_window());
    ui->pictures(2);
  }
  float velocity(std::int64_t world) { return source->report(world).qvel[0]; }

  const TempFolder folder;
  Source source;
  std::unique_ptr<UiDriver> ui;
};

TEST_F(UiModel, FallsAsGravitySays) {
  ui->press(ImGuiKey_RightArrow);
  const float fallen = velocity(0);
  EXPECT_NEAR(fallen, 0.5 - 9.81 * 0.002, 1e-6) << "from the keyframe's velocity";
  ui->in("Physics", [](ImGuiTestContext& user) { user.ItemInputValue("gravity z", 0.0f); });
  ui->press(ImGuiKey_RightArrow, 3);
  EXPECT_NEAR(velocity(0), fallen, 1e-6);
}

TEST_F(UiModel, AnActuatorPushesTheSelectedWorld) {
  ui->in("Controls", [](ImGuiTestContext& user) { user.ItemInputValue("lift##0", 20.0f); });
  ui->press(ImGuiKey_RightArrow);
  EXPECT_NEAR(velocity(0), 0.5 + (20 - 9.81) * 0.002, 1e-5) << "of 1 kg";
  EXPECT_NEAR(velocity(1), 0.5 - 9.81 * 0.002, 1e-6);
}

TEST_F(UiModel, GoesIntoItsKeyframe) {
  ui->in("Worlds", [](ImGuiTestContext& user) { user.ItemInputValue("Selected", 1); });
  ui->in("Simulation", [](ImGuiTestContext& user) { user.ComboClick("Keyframe/high##0"); });
  EXPECT_EQ(source->report(1).qpos, std::vector<float>{2});
  EXPECT_EQ(source->report(1).qvel, std::vector<float>{0.5f});
  ui->pictures(1);
  EXPECT_EQ(ui->view().frames[1].pos[2], 3.0f) << "1 m above, 2 m on the slide";
  ui->press(ImGuiKey_Backspace);
  EXPECT_EQ(source->report(1).qpos, source->report(0).qpos);
}

// A model of the tree, whole: humanoid, 17 actuators.
TEST(UiModelFile, AHumanoidOpensAndMoves) {
  const std::string file = std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/humanoid.xml";
  const Source source = open_source({.what = file, .device = "cpu", .actions = "random"});
  UiDriver ui(*source, UiDriver::paused_window());
  ui.pictures(2);
  const std::vector<Frame> before = ui.view().frames;
  ui.press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  ui.pictures(1);
  const std::vector<float> qpos = source->report(0).qpos;
  EXPECT_EQ(ui.view().frames[1].pos[2], qpos[2]);
  EXPECT_NE(before[1].pos[2], qpos[2]);
  EXPECT_EQ(source->report(0).action.size(), 17u);
}

}  // namespace
}  // namespace hotloop
