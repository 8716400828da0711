// Each key of the table changes what it says.
#include <gtest/gtest.h>

#include <set>

#include "tests/viz/ui_driver.h"
#include "viz/ui/keys.h"

namespace hotloop {
namespace {

class UiKeys : public testing::Test {
 protected:
  UiKeys() : source(full_source()), ui(source) {
    ui.pictures(2);
    view().drawing = false;  // the scene is what takes long
  }
  void press(ImGuiKeyChord chord, int count = 1) {
    ui.use([&](ImGuiTestContext& user) { user.KeyPress(chord, count); });
    ui.pictures(2);
    pressed.insert(chord);
  }
  View& view() { return ui.view(); }

  FakeSource source;
  UiDriver ui;
  static inline std::set<ImGuiKeyChord> pressed;
};

TEST_F(UiKeys, Time) {
  press(ImGuiKey_Space);
  EXPECT_TRUE(view().pacer.paused);
  const std::int64_t here = source.position();
  press(ImGuiKey_RightArrow);
  EXPECT_EQ(source.position(), here + 1);
  press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  EXPECT_EQ(source.position(), here + 11);
  const int steps = source.steps;
  press(ImGuiKey_LeftArrow);
  EXPECT_EQ(source.position(), here + 10);
  press(ImGuiMod_Shift | ImGuiKey_LeftArrow);
  EXPECT_EQ(source.position(), here);
  press(ImGuiKey_RightArrow);
  EXPECT_EQ(source.position(), here + 1);
  EXPECT_EQ(source.steps, steps) << "what is remembered was simulated again";
  press(ImGuiKey_End);
  EXPECT_EQ(source.position(), here + 11);
  press(ImGuiKey_Home);
  EXPECT_EQ(source.position(), source.first_position());
  press(ImGuiKey_Equal, 2);
  EXPECT_EQ(view().pacer.speed(), 4);
  press(ImGuiKey_Minus, 3);
  EXPECT_EQ(view().pacer.speed(), 0.5);
  press(ImGuiKey_N);
  EXPECT_EQ(source.position(), std::min<std::int64_t>(49, here + 11)) << "as near as is kept";
  press(ImGuiKey_Backspace);
  EXPECT_EQ(source.resets, 1);
  press(ImGuiMod_Shift | ImGuiKey_Space);
  EXPECT_TRUE(view().pacer.backward);
  press(ImGuiKey_Space);
  EXPECT_FALSE(view().pacer.paused);
}

TEST_F(UiKeys, EndsOfEpisodes) {
  press(ImGuiKey_Space);
  press(ImGuiMod_Shift | ImGuiKey_RightArrow, 15);
  source.seek(0);
  press(ImGuiKey_N);
  EXPECT_EQ(source.position(), 49);
  press(ImGuiKey_N);
  EXPECT_EQ(source.position(), 120);
  press(ImGuiMod_Shift | ImGuiKey_N);
  EXPECT_EQ(source.position(), 49);
}

TEST_F(UiKeys, Worlds) {
  press(ImGuiKey_Period, 2);
  EXPECT_EQ(view().selected, 2);
  press(ImGuiKey_Comma);
  EXPECT_EQ(view().selected, 1);
  press(ImGuiMod_Ctrl | ImGuiKey_Period);
  EXPECT_EQ(view().selected, 4);
  press(ImGuiMod_Ctrl | ImGuiKey_Comma);
  EXPECT_EQ(view().selected, 2);
  press(ImGuiKey_O);
  EXPECT_EQ(view().grid().count, 1);
  EXPECT_EQ(view().grid().first, 2);
  press(ImGuiKey_O);
  EXPECT_EQ(view().grid().count, 9);
  press(ImGuiKey_U);
  EXPECT_EQ(source.taken_world, 2);
  EXPECT_EQ(source.taken_action, (std::vector<float>{0.25f, -0.5f, 1}));
  press(ImGuiKey_U);
  EXPECT_EQ(source.releases, 1);
  view().selected_frame = 3;
  press(ImGuiKey_PageUp);
  EXPECT_EQ(view().selected_frame, 2);
}

TEST_F(UiKeys, Cameras) {
  using Mode = CameraControl::Mode;
  press(ImGuiKey_O);
  view().drawing = true;
  press(ImGuiKey_Escape);
  EXPECT_EQ(view().camera.mode(), Mode::free);
  press(ImGuiKey_RightBracket);
  EXPECT_EQ(view().camera.mode(), Mode::track);
  press(ImGuiKey_RightBracket);
  EXPECT_EQ(view().camera.name(), "side");
  EXPECT_TRUE(view().drawn_camera.posed);
  press(ImGuiKey_LeftBracket, 2);
  EXPECT_EQ(view().camera.mode(), Mode::free);
  press(ImGuiKey_LeftBracket);
  EXPECT_EQ(view().camera.name(), "chase");
  view().selected_frame = 2;
  press(ImGuiKey_Escape);
  EXPECT_EQ(view().camera.mode(), Mode::free);
  EXPECT_EQ(view().selected_frame, -1);
  view().camera.orbit().distance = 99;
  press(ImGuiMod_Ctrl | ImGuiKey_A);
  EXPECT_EQ(view().camera.orbit().distance, 3);
}

TEST_F(UiKeys, Flags) {
  struct Case {
    ImGuiKey key;
    bool SceneFlags::*flag;
  };
  const Case cases[] = {{ImGuiKey_S, &SceneFlags::shadow},        {ImGuiKey_R, &SceneFlags::reflection},
                        {ImGuiKey_W, &SceneFlags::wireframe},     {ImGuiKey_X, &SceneFlags::texture},
                        {ImGuiKey_T, &SceneFlags::transparent},   {ImGuiKey_K, &SceneFlags::skybox},
                        {ImGuiKey_G, &SceneFlags::fog},           {ImGuiKey_Slash, &SceneFlags::haze},
                        {ImGuiKey_D, &SceneFlags::static_shapes}, {ImGuiKey_J, &SceneFlags::joints},
                        {ImGuiKey_M, &SceneFlags::com},           {ImGuiKey_I, &SceneFlags::inertia},
                        {ImGuiKey_C, &SceneFlags::contacts},      {ImGuiKey_F, &SceneFlags::contact_forces},
                        {ImGuiKey_B, &SceneFlags::perturbation},  {ImGuiKey_Z, &SceneFlags::lights},
                        {ImGuiKey_Q, &SceneFlags::cameras},       {ImGuiKey_F6, &SceneFlags::frames},
                        {ImGuiKey_F7, &SceneFlags::labels}};
  for (const Case& c : cases) {
    const bool before = view().flags.*c.flag;
    press(c.key);
    EXPECT_EQ(view().flags.*c.flag, !before) << ImGui::GetKeyName(c.key);
  }
  for (int group = 0; group < 6; ++group) {
    const bool shape = view().flags.groups[group], site = view().flags.site_groups[group];
    press(static_cast<ImGuiKey>(ImGuiKey_0 + group));
    EXPECT_EQ(view().flags.groups[group], !shape);
    EXPECT_EQ(view().flags.site_groups[group], site);
    press(ImGuiMod_Shift | static_cast<ImGuiKey>(ImGuiKey_0 + group));
    EXPECT_EQ(view().flags.groups[group], !shape);
    EXPECT_EQ(view().flags.site_groups[group], !site);
  }
}

TEST_F(UiKeys, Window) {
  const ViewSettings& settings = view().settings;
  press(ImGuiKey_F1);
  EXPECT_TRUE(view().help);
  press(ImGuiKey_F1);
  EXPECT_FALSE(view().help);
  press(ImGuiKey_Tab);
  EXPECT_FALSE(settings.left);
  press(ImGuiMod_Shift | ImGuiKey_Tab);
  EXPECT_FALSE(settings.right);
  const float narrow = view().image_height;
  press(ImGuiMod_Ctrl | ImGuiKey_B);
  EXPECT_FALSE(settings.bottom);
  EXPECT_GT(view().image_height, narrow) << "the picture takes the room";
  press(ImGuiMod_Ctrl | ImGuiKey_L);
  EXPECT_TRUE(settings.light);
  ui.use([&](ImGuiTestContext& user) {  // the test engine puts back the style afterwards
    user.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Equal);
    user.Yield(2);
    EXPECT_NEAR(ImGui::GetStyle().FontScaleMain, 1.1f, 1e-5);
  });
  EXPECT_GT(settings.font_scale, 1);
  press(ImGuiMod_Ctrl | ImGuiKey_Minus, 2);
  EXPECT_LT(settings.font_scale, 1);
  press(ImGuiMod_Ctrl | ImGuiKey_0);
  EXPECT_EQ(settings.font_scale, 1);
  pressed.insert(ImGuiMod_Ctrl | ImGuiKey_Equal);
  view().drawing = true;
  const int steps = source.steps;
  press(ImGuiKey_V);
  EXPECT_FALSE(view().drawing);
  ui.pictures(5);
  EXPECT_GT(source.steps, steps) << "time goes on";
  press(ImGuiKey_V);
  EXPECT_TRUE(view().drawing);
  press(ImGuiKey_F2);
  EXPECT_TRUE(view().info);
  press(ImGuiKey_F3);
  EXPECT_TRUE(view().profiler);
  press(ImGuiKey_F5);
  EXPECT_TRUE(view().full_screen);
  press(ImGuiKey_F5);
  EXPECT_FALSE(view().full_screen);
  pressed.insert({ImGuiKey_P, ImGuiMod_Shift | ImGuiKey_P, ImGuiMod_Ctrl | ImGuiKey_Q});  // ui_window_test.cpp
}

// Runs last: a key without a test of its own is found here.
TEST_F(UiKeys, ZEveryKeyWasPressed) {
  if (pressed.size() < 20) GTEST_SKIP() << "not after the other tests";
  for (const KeyBinding& binding : key_bindings())
    EXPECT_TRUE(pressed.contains(binding.chord)) << key_text(binding.chord);
}

TEST_F(UiKeys, AreCalledWhatStandsOnThem) {
  EXPECT_EQ(key_text(ImGuiMod_Ctrl | ImGuiKey_Equal), "Ctrl+=");
  EXPECT_EQ(key_text(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_LeftArrow), "Ctrl+Shift+Left");
  EXPECT_EQ(key_text(ImGuiKey_F7), "F7");
  for (const KeyBinding& binding : key_bindings())
    for (const char* word : {"Equal", "Minus", "Period", "Comma", "Bracket", "Arrow", "Page"})
      EXPECT_EQ(key_text(binding.chord).find(word), std::string::npos) << key_text(binding.chord);
}

TEST_F(UiKeys, TextFieldsKeepTheirKeys) {
  ui.use([&](ImGuiTestContext& user) {
    user.WindowFocus("//Watch");
    user.ItemInput("//Watch/**/##filter");
    user.KeyChars("sw");
    user.KeyPress(ImGuiKey_S);
    user.KeyPress(ImGuiKey_Space);
  });
  EXPECT_TRUE(view().flags.shadow);
  EXPECT_FALSE(view().flags.wireframe);
  EXPECT_FALSE(view().pacer.paused);
  EXPECT_EQ(view().panel.watch.filter.substr(0, 2), "sw");
}

TEST_F(UiKeys, SwitchedOff) {
  view().settings.shortcuts = false;
  press(ImGuiKey_S);
  press(ImGuiKey_Space);
  EXPECT_TRUE(view().flags.shadow);
  EXPECT_FALSE(view().pacer.paused);
  press(ImGuiKey_F1);
  EXPECT_TRUE(view().help) << "help always works";
}

}  // namespace
}  // namespace hotloop
