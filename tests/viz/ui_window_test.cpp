// The window itself: sizes, closing, pictures, what is kept between runs, and what fails.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/viz/ui_driver.h"
#include "tests/viz/ui_x11.h"
#include "viz/png.h"
#include "viz/ui/layout.h"
#include "viz/ui/panel.h"
#include "viz/ui/window.h"

namespace hotloop {
namespace {

GLFWwindow* handle(UiDriver& ui) { return static_cast<GLFWwindow*>(ui.viewer().window().handle()); }

TEST(UiWindow, SurvivesAnySize) {
  FakeSource source = full_source();
  UiDriver ui(source);
  const int sizes[][2] = {{1, 1}, {300, 1}, {1, 300}, {37, 53}, {1000, 700}};
  for (const auto& size : sizes) {
    glfwSetWindowSize(handle(ui), size[0], size[1]);
    ui.pictures(4);
  }
  EXPECT_GT(ui.view().image_width, 100);
  glfwIconifyWindow(handle(ui));
  ui.pictures(2);
  glfwRestoreWindow(handle(ui));
  ui.pictures(2);
}

TEST(UiWindow, FollowsTheMonitorsScale) {
  FakeSource source = full_source();
  shared_display();
  set_dpi(192);
  UiDriver ui(source);
  set_dpi(96);
  ui.pictures(2);
  EXPECT_EQ(ui.viewer().window().monitor_scale(), 2);
  EXPECT_EQ(ImGui::GetStyle().FontScaleDpi, 2);
  int width = 0, height = 0;
  ui.viewer().window().framebuffer_size(width, height);
  EXPECT_EQ(width, 2 * UiDriver::small_window().width);
}

// Nothing is cut off at the right edge of what it stands in.
TEST(UiWindow, LargeTextHasRoom) {
  FakeSource source = full_source();
  ViewerOptions options = UiDriver::paused_window();
  options.width = 1600;
  options.height = 900;
  UiDriver ui(source, options);
  ui.pictures(6);
  ui.view().drawing = false;
  ui.view().help = true;
  std::vector<std::string> names = {"Keys and mouse"};
  for (const Panel& panel : panels()) names.emplace_back(panel.name);
  for (const float scale : {1.0f, 2.0f}) {
    ui.view().settings.font_scale = scale;
    ui.pictures(3);
    for (const std::string& name : names) {
      ImGui::SetWindowFocus(name.c_str());
      ui.pictures(3);
      const ImGuiWindow* window = ImGui::FindWindowByName(name.c_str());
      ASSERT_NE(window, nullptr) << name;
      EXPECT_LE(window->ContentSizeIdeal.x, window->WorkRect.GetWidth() + 1) << name << " at scale " << scale;
    }
  }
}

TEST(UiWindow, ClosesWhenAsked) {
  FakeSource source = full_source();
  UiDriver ui(source);
  ui.pictures(2);
  glfwSetWindowShouldClose(handle(ui), GLFW_TRUE);
  EXPECT_FALSE(ui.viewer().picture());
}

TEST(UiWindow, CtrlQQuits) {
  FakeSource source = full_source();
  UiDriver ui(source);
  ui.pictures(2);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, true);
  ImGui::GetIO().AddKeyEvent(ImGuiKey_Q, true);
  bool left = false;
  for (int i = 0; i < 5 && !left; ++i) left = !ui.viewer().picture();
  EXPECT_TRUE(left);
}

TEST(UiWindow, TakesPictures) {
  const TempFolder folder;
  FakeSource source = full_source();
  ViewerOptions options = UiDriver::small_window();
  options.picture_folder = folder.path();
  UiDriver ui(source, options);
  ui.use([](ImGuiTestContext& user) {
    user.KeyPress(ImGuiKey_P);
    user.Yield(2);
    user.KeyPress(ImGuiMod_Shift | ImGuiKey_P);
    user.Yield(2);
  });
  int scenes = 0, windows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const Picture picture = read_png(entry.path());
    int width = 0, height = 0;
    ui.viewer().window().framebuffer_size(width, height);
    (picture.width == width && picture.height == height ? windows : scenes) += 1;
    const auto [low, high] = std::minmax_element(picture.rgb.begin(), picture.rgb.end());
    EXPECT_GT(*high - *low, 50) << "nothing in the picture";
    EXPECT_EQ(entry.path().filename().string().substr(0, 7), "Arm-v0_");
  }
  EXPECT_EQ(scenes, 1);
  EXPECT_EQ(windows, 1);
}

TEST(UiWindow, SaysWhyThereIsNoPicture) {
  FakeSource source = full_source();
  ViewerOptions options = UiDriver::small_window();
  options.picture_folder = "/nowhere/at/all";
  UiDriver ui(source, options);
  ui.use([](ImGuiTestContext& user) {
    user.KeyPress(ImGuiKey_P);
    user.Yield(2);
  });
  EXPECT_NE(ui.view().messages.back().find("/nowhere/at/all"), std::string::npos) << ui.view().messages.back();
}

TEST(UiLayout, KeepsLayoutAndSettings) {
  const TempFolder folder;
  ViewerOptions options = UiDriver::small_window();
  options.keep_layout = true;
  options.layout_file = folder.path() / "deep" / "viewer.ini";
  FakeSource source = full_source();
  {
    UiDriver ui(source, options);
    ui.pictures(2);
    ui.view().settings.light = true;
    ui.view().settings.closed["Watch"] = true;
    ui.view().settings.font_scale = 1.5f;
  }
  ASSERT_TRUE(std::filesystem::exists(options.layout_file));
  UiDriver ui(source, options);
  ui.pictures(2);
  EXPECT_TRUE(ui.view().settings.light);
  EXPECT_TRUE(ui.view().settings.closed["Watch"]);
  EXPECT_FLOAT_EQ(ui.view().settings.font_scale, 1.5f);
}

TEST(UiLayout, TakesADamagedFile) {
  const TempFolder folder;
  ViewerOptions options = UiDriver::small_window();
  options.keep_layout = true;
  options.layout_file = folder.path() / "viewer.ini";
  std::ofstream(options.layout_file)
      << "[Docking][Data]\nDockNode ID=0x1 "
         "Parent=0x9\n\x01\xff[[[\nFontScale=1e30\n[Hotloop][Settings]\nFontScale=-7\nLight=maybe\n";
  FakeSource source = full_source();
  UiDriver ui(source, options);
  ui.pictures(3);
  EXPECT_EQ(ui.view().settings.font_scale, 1);
}

TEST(UiLayout, FileIsTheUsersOwn) {
  ::setenv("XDG_CONFIG_HOME", "/x/config", 1);
  EXPECT_EQ(layout_file(), "/x/config/hotloop/viewer.ini");
  ::unsetenv("XDG_CONFIG_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(layout_file(), "/home/me/.config/hotloop/viewer.ini");
}

TEST(UiWindow, NamesCamerasThatThereAreNot) {
  FakeSource source = full_source();
  shared_display();
  ViewerOptions options = UiDriver::small_window();
  options.camera = "sidee";
  EXPECT_EQ(error_text([&] { Viewer viewer(source, options); }),
            "--camera sidee: the model has no such camera (did you mean 'side'?)");
}

TEST(UiNoDisplay, IsSaid) {
  ::setenv("DISPLAY", ":4242", 1);
  FakeSource source;
  const std::string text = error_text([&] { Viewer viewer(source, {}); });
  EXPECT_NE(text.find("DISPLAY=:4242"), std::string::npos) << text;
  EXPECT_NE(text.find("--headless"), std::string::npos) << text;
  ::unsetenv("DISPLAY");
  EXPECT_NE(error_text([&] { Viewer viewer(source, {}); }).find("DISPLAY is not set"), std::string::npos);
}

TEST(UiOldGl, IsSaid) {
  shared_display();
  ::setenv("MESA_GL_VERSION_OVERRIDE", "3.3", 1);
  FakeSource source;
  const std::string text = error_text([&] { Viewer viewer(source, UiDriver::small_window()); });
  EXPECT_NE(text.find("OpenGL 4.5"), std::string::npos) << text;
  EXPECT_NE(text.find("3.3"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(UiDisplayLost, IsSaid) {
  Display display;
  FakeSource source;
  Viewer viewer(source, UiDriver::small_window());
  ASSERT_TRUE(viewer.picture());
  display.kill();
  const std::string text = error_text([&] {
    for (int i = 0; i < 1000; ++i) viewer.picture();
  });
  EXPECT_EQ(text, "lost the display: the connection to the X server broke");
}

}  // namespace
}  // namespace hotloop
