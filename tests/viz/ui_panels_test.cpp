// Each panel: what its widgets do, and what it says where the source has nothing for it.
#include <gtest/gtest.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "tests/viz/ui_driver.h"
#include "viz/ui/panel.h"

namespace hotloop {
namespace {

class UiPanels : public testing::Test {
 protected:
  UiPanels() : source(full_source()), ui(source) {
    ui.view().pacer.paused = true;
    ui.pictures(2);
    view().drawing = false;  // the scene is what takes long
  }
  void in(const char* panel, const std::function<void(ImGuiTestContext&)>& steps) { ui.in(panel, steps); }
  View& view() { return ui.view(); }

  FakeSource source;
  UiDriver ui;
};

TEST_F(UiPanels, Simulation) {
  in("Simulation", [&](ImGuiTestContext& user) {
    user.ItemClick("###pause");
    EXPECT_FALSE(view().pacer.paused);
    user.ItemClick("###pause");
    EXPECT_TRUE(view().pacer.paused);
    user.Yield(2);
    const std::int64_t here = source.position();
    user.ItemClick("forward");
    user.Yield();
    EXPECT_EQ(source.position(), here + 1);
    user.ItemClick("back");
    user.Yield();
    EXPECT_EQ(source.position(), here);
    user.ItemInputValue("##seed", 77);
    user.ItemClick("Restart with seed");
    user.Yield();
    EXPECT_EQ(source.restarted_with, 77);
    user.ItemClick("Reset");
    user.Yield();
    EXPECT_EQ(source.resets, 1);
    view().pacer.step(100);
    user.Yield(2);
    user.ItemInputValue("History", 40);
    user.Yield();
    EXPECT_EQ(source.position(), 40);
    user.ItemClick("Speed");
    EXPECT_EQ(view().pacer.speed(), 1) << "the middle of the slider";
    user.ComboClick("Keyframe/bent##1");
    EXPECT_EQ(source.keyframe, 1);
  });
}

TEST_F(UiPanels, Worlds) {
  in("Worlds", [&](ImGuiTestContext& user) {
    user.ItemInputValue("Selected", 5);
    EXPECT_EQ(view().selected, 5);
    user.ItemClick("Best");
    EXPECT_EQ(view().selected, 4);
    user.ItemClick("Worst");
    EXPECT_EQ(view().selected, 2);
    user.ItemCheck("Only the selected one");
    EXPECT_EQ(view().grid().count, 1);
    user.ItemUncheck("Only the selected one");
    user.ItemInputValue("First", 3);
    user.ItemInputValue("Count", 4);
    EXPECT_EQ(view().grid().first, 3);
    EXPECT_EQ(view().grid().count, 4);
    user.ItemInputValue("Count", 4000);
    EXPECT_EQ(view().grid().count, 6) << "only those that there are";
    user.ItemInputValue("Spacing", 2.5f);
    EXPECT_EQ(view().grid().spacing, 2.5f);
    view().camera.orbit().distance = 1;
    user.ItemClick("See all");
    EXPECT_GT(view().camera.orbit().distance, 2);
  });
}

TEST_F(UiPanels, Rendering) {
  in("Rendering", [&](ImGuiTestContext& user) {
    user.ItemUncheck("Look/Shadows");
    EXPECT_FALSE(view().flags.shadow);
    user.ItemCheck("Look/Wireframe");
    EXPECT_TRUE(view().flags.wireframe);
    user.ItemCheck("Aids/Contacts");
    EXPECT_TRUE(view().flags.contacts);
    user.ItemCheck("Aids/Labels");
    EXPECT_TRUE(view().flags.labels);
    user.ItemUncheck("Shapes/1");
    EXPECT_FALSE(view().flags.groups[1]);
    user.ItemCheck("Sites/4");
    EXPECT_TRUE(view().flags.site_groups[4]);
  });
}

TEST_F(UiPanels, Camera) {
  in("Camera", [&](ImGuiTestContext& user) {
    user.ComboClick("Camera/side");
    EXPECT_EQ(view().camera.name(), "side");
    user.ComboClick("Camera/free");
    EXPECT_EQ(view().camera.mode(), CameraControl::Mode::free);
    user.ComboClick("Camera/track fore##3");
    EXPECT_EQ(view().camera.frame(), 3);
    user.ItemInputValue("Azimuth", 30.0f);
    EXPECT_EQ(view().camera.orbit().azimuth, 30);
    user.ItemInputValue("Elevation", -120.0f);
    EXPECT_EQ(view().camera.orbit().elevation, -89) << "as far as it goes";
    user.ItemInputValue("Distance", 4.0f);
    EXPECT_EQ(view().camera.orbit().distance, 4);
    user.ItemInputValue("Field", 60.0f);
    EXPECT_EQ(view().camera.orbit().fovy, 60);
    view().selected_frame = 2;
    user.Yield(2);
    user.ItemClick("Follow selection");
    EXPECT_EQ(view().camera.frame(), 2);
    user.ItemClick("Align");
    EXPECT_EQ(view().camera.orbit().fovy, 45);
  });
}

TEST_F(UiPanels, Controls) {
  in("Controls", [&](ImGuiTestContext& user) {
    user.ItemClick("Take over");
    EXPECT_TRUE(view().hand.active);
    user.ItemInputValue("elbow motor##1", 1.5f);
    EXPECT_EQ(source.taken_action, (std::vector<float>{0.25f, 1.5f, 1}));
    user.ItemInputValue("elbow motor##1", 9.0f);
    EXPECT_EQ(source.taken_action[1], 2) << "as far as the actuator goes";
    user.ItemInputValue("gear##2", 2);
    EXPECT_EQ(source.taken_action[2], 2);
    user.ItemClick("Clear all");
    EXPECT_EQ(source.taken_action, (std::vector<float>{0, 0, 0}));
    user.ItemClick("Release");
    EXPECT_EQ(source.releases, 1);
    user.ItemInputValue("shoulder motor##0", 0.5f);
    EXPECT_TRUE(view().hand.active) << "moving a slider takes over";
    view().select_world(3);
    EXPECT_EQ(source.releases, 2) << "another world was selected";
  });
}

TEST_F(UiPanels, Joints) {
  in("Joints", [&](ImGuiTestContext& user) {
    user.ItemInputValue("elbow##8", 0.75f);
    EXPECT_EQ(source.posed_world, 0);
    EXPECT_EQ(source.qpos[8], 0.75f);
    EXPECT_EQ(source.qpos[7], 0.3f);
    user.Yield(2);
    EXPECT_EQ(view().recorder.report().qpos[8], 0.75f) << "the panels show what was set";
  });
}

TEST_F(UiPanels, Physics) {
  in("Physics", [&](ImGuiTestContext& user) {
    user.ItemInputValue("gravity_z", -1.62f);
    EXPECT_NEAR(source.options[0].value, -1.62, 1e-6);
    user.ComboClick("integrator/RK4");
    EXPECT_EQ(source.options[1].value, 1);
    user.ItemUncheck("contact");
    EXPECT_EQ(source.options[2].value, 0);
  });
}

// What is typed into a slider may be no number.
TEST_F(UiPanels, NotANumber) {
  const auto type = [](ImGuiTestContext& user, const char* slider) {
    user.ItemInput(slider);
    user.KeyCharsReplaceEnter("nan");
  };
  const double gravity = source.options[0].value;
  const std::vector<float> qpos = source.qpos;
  const float azimuth = view().camera.orbit().azimuth;
  in("Physics", [&](ImGuiTestContext& user) { type(user, "gravity_z"); });
  in("Joints", [&](ImGuiTestContext& user) { type(user, "elbow##8"); });
  in("Controls", [&](ImGuiTestContext& user) { type(user, "elbow motor##1"); });
  in("Camera", [&](ImGuiTestContext& user) { type(user, "Azimuth"); });
  EXPECT_EQ(source.options[0].value, gravity);
  EXPECT_EQ(source.qpos, qpos);
  EXPECT_FALSE(view().hand.active);
  EXPECT_EQ(view().camera.orbit().azimuth, azimuth);
}

TEST_F(UiPanels, RewardsStatisticsAndWatch) {
  view().pacer.step(120);
  ui.pictures(3);
  in("Rewards", [&](ImGuiTestContext& user) {
    user.ItemClick("Now");
    EXPECT_FALSE(view().panel.rewards.over_time);
    user.ItemClick("Over time");
    EXPECT_TRUE(view().panel.rewards.over_time);
  });
  EXPECT_EQ(view().recorder.episodes().size(), 2u);
  in("Statistics", [&](ImGuiTestContext& user) {
    user.ItemInputValue("bins", 12);
    EXPECT_EQ(view().panel.statistics.bins, 12);
    user.ItemClick("Forget");
    EXPECT_TRUE(view().recorder.episodes().empty());
  });
  in("Watch", [&](ImGuiTestContext& user) {
    user.ItemInputValue("**/##filter", "qpos[8]");
    user.Yield(2);
    user.ItemClick("**/qpos[8]");
  });
  const Signal elbow{Signal::Kind::qpos, 8};
  EXPECT_EQ(view().panel.watch.signals.back(), elbow);
  view().pacer.step(1);
  ui.pictures(2);
  std::vector<double> time, value;
  view().recorder.series(elbow, time, value);
  ASSERT_FALSE(value.empty());
  EXPECT_FLOAT_EQ(static_cast<float>(value.back()), -0.4f);
}

TEST_F(UiPanels, TrainingAndTensors) {
  in("Training", [&](ImGuiTestContext& user) {
    user.ItemInputValue("smoothing", 0.9f);
    EXPECT_EQ(view().panel.training.smoothing, 0.9f);
    user.ItemCheck("log values");
    EXPECT_TRUE(view().panel.training.log_y);
    user.ItemCheck("log steps");
    EXPECT_TRUE(view().panel.training.log_x);
    user.ItemInputValue("##filter", "kl");
    user.Yield(2);
  });
  EXPECT_EQ(view().panel.training.filter, "kl");
  in("Tensors", [&](ImGuiTestContext& user) {
    user.ItemClick("**/###rollout\\/reward");
    user.Yield(3);
    EXPECT_EQ(source.tensor_read, "rollout/reward");
    EXPECT_EQ(view().panel.tensors.values.size(), 16u * 9);
    user.ItemClick("**/Lines");
    EXPECT_FALSE(view().panel.tensors.heat);
    user.ItemClick("**/Heat map");
    EXPECT_TRUE(view().panel.tensors.heat);
    user.ItemInputValue("**/rows", 4);
  });
  EXPECT_EQ(view().panel.tensors.slices, 4);
}

TEST_F(UiPanels, Distributions) {
  in("Distributions", [&](ImGuiTestContext& user) {
    EXPECT_EQ(view().panel.distributions.observations.size(), 9u * 6);
    user.ItemClick("Actions");
    user.Yield(2);
    EXPECT_EQ(view().panel.distributions.action_values.size(), 9u * 3);
    user.ItemClick("One");
    user.Yield(2);
    user.ItemInputValue("component", 2);
    EXPECT_EQ(view().panel.distributions.component, 2);
    user.ItemClick("All components");
    EXPECT_TRUE(view().panel.distributions.violins);
  });
}

TEST_F(UiPanels, Episodes) {
  view().pacer.step(130);
  ui.pictures(2);
  in("Episodes", [&](ImGuiTestContext& user) {
    user.ItemClick("Best");
    user.Yield();
    EXPECT_EQ(view().selected, 1);
    EXPECT_EQ(source.position(), 0);
    user.ItemClick("Worst");
    user.Yield();
    EXPECT_EQ(view().selected, 0);
    EXPECT_EQ(source.position(), 50);
    user.ItemClick("episodes/$$0/truncated");
    user.Yield();
    EXPECT_EQ(view().selected, 1) << "the best comes first";
    EXPECT_EQ(source.position(), 79);
    user.ItemClick("By time");
    user.Yield();
    user.ItemClick("episodes/$$2/###row");
    user.Yield();
    EXPECT_EQ(source.position(), 50);
    user.ItemCheck("Selected world only");
    EXPECT_TRUE(view().panel.episodes.this_world);
  });
}

TEST_F(UiPanels, LogAndMachine) {
  view().say("a line of the viewer's own");
  in("Log", [&](ImGuiTestContext& user) {
    user.ItemInputValue("##filter", "viewer");
    user.ItemUncheck("Follow");
  });
  EXPECT_EQ(view().panel.log.filter, "viewer");
  EXPECT_FALSE(view().panel.log.follow);
  in("Machine", [&](ImGuiTestContext& user) { user.Yield(3); });
  EXPECT_GT(view().panel.machine.picture_ms.size(), 2u);
}

TEST_F(UiPanels, MenusDoWhatKeysDo) {
  ui.use([&](ImGuiTestContext& user) {
    user.SetRef("##MainMenuBar");
    user.MenuClick("Draw/Wireframe");
    EXPECT_TRUE(view().flags.wireframe);
    user.MenuClick("Panels/Watch");
    EXPECT_TRUE(view().settings.closed["Watch"]);
    user.MenuClick("Panels/Panels where they were at first");
    user.Yield(2);
    EXPECT_FALSE(view().settings.closed["Watch"]);
    user.MenuClick("Panels/Keys act");
    EXPECT_FALSE(view().settings.shortcuts);
    user.MenuClick("Help");
    EXPECT_TRUE(view().help);
  });
}

TEST_F(UiPanels, EveryPanelOpensAndCloses) {
  for (const Panel& panel : panels()) {
    in(panel.name, [&](ImGuiTestContext& user) {
      ImGuiWindow* window = user.GetWindowByRef("");
      ASSERT_NE(window, nullptr) << panel.name;
      EXPECT_NE(window->DockNode, nullptr) << panel.name;
      user.WindowClose("");
    });
    EXPECT_TRUE(view().settings.closed[panel.name]) << panel.name;
  }
}

TEST(UiPanelsOfLittle, ATrainingBeginsWithItsCurves) {
  for (const SourceKind kind : {SourceKind::training, SourceKind::task}) {
    FakeSource source(1, kind);
    UiDriver ui(source);
    ui.pictures(6);
    const ImGuiWindow* curves = ImGui::FindWindowByName("Training");
    ASSERT_NE(curves, nullptr);
    EXPECT_EQ(curves->DockTabIsVisible, kind == SourceKind::training);
  }
}

// A bare model, a task and a training lack different things: no panel may fail over it.
TEST(UiPanelsOfLittle, SayWhyThereIsNothing) {
  FakeSource source(1, SourceKind::model);
  source.what.can_step = source.what.can_control = source.what.can_perturb = source.what.can_pose = false;
  source.what.controls.clear();
  source.what.reward_terms.clear();
  UiDriver ui(source);
  ui.pictures(2);
  ui.view().drawing = false;
  for (const Panel& panel : panels())
    ui.use([&](ImGuiTestContext& user) {
      user.WindowFocus((std::string("//") + panel.name).c_str());
      user.Yield(2);
    });
  EXPECT_EQ(source.steps, 0);
}

}  // namespace
}  // namespace hotloop
