#include "tests/viz/ui_driver.h"

#include <gtest/gtest.h>
#include <imgui.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "sim/core/error.h"
#include "viz/gl/context.h"

namespace hotloop {

// Xvfb finds a free number itself and writes it down once it listens.
Display::Display() {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) throw Error("pipe failed");
  server_ = ::fork();
  if (server_ == 0) {
    ::close(pipe_ends[0]);
    const std::string fd = std::to_string(pipe_ends[1]);
    ::freopen("/dev/null", "w", stderr);
    ::execlp("Xvfb", "Xvfb", "-displayfd", fd.c_str(), "-screen", "0", "1920x1080x24", "-nolisten", "tcp", "-noreset",
             nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string number;
  pollfd said = {pipe_ends[0], POLLIN, 0};
  for (char c = 0; ::poll(&said, 1, 60'000) == 1 && ::read(pipe_ends[0], &c, 1) == 1 && c != '\n';) number += c;
  ::close(pipe_ends[0]);
  if (number.empty()) throw Error("no Xvfb: the tests of the window need it (Debian: apt install xvfb)");
  ::setenv("DISPLAY", (":" + number).c_str(), 1);
}

Display::~Display() { kill(); }

void Display::kill() {
  if (server_ <= 0) return;
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

Display& shared_display() {
  static Display display;
  return display;
}

ViewerOptions UiDriver::small_window() {
  ViewerOptions options;
  options.width = 800;
  options.height = 560;
  options.keep_layout = false;
  options.most_pictures = 0;
  return options;
}

ViewerOptions UiDriver::paused_window() {
  ViewerOptions options = small_window();
  options.paused = true;
  return options;
}

UiDriver::UiDriver(WorldSource& source, ViewerOptions options) {
  shared_display();
  ::setenv("HOTLOOP_GL_DEBUG", "1", 1);
  viewer_ = std::make_unique<Viewer>(source, options);
  engine_ = ImGuiTestEngine_CreateContext();
  ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine_);
  io.ConfigSavedSettings = false;
  io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
  io.ConfigLogToTTY = std::getenv("HOTLOOP_UI_TRACE") != nullptr;
  if (io.ConfigLogToTTY) io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Debug;
  io.ConfigMouseDrawCursor = false;
  io.ConfigWatchdogWarning = io.ConfigWatchdogKillTest = 280;  // [s] on a busy machine
  ImGuiTestEngine_Start(engine_, ImGui::GetCurrentContext());
}

UiDriver::~UiDriver() {
  EXPECT_EQ(take_gl_error(), "");
  ImGuiTestEngine_Stop(engine_);
  viewer_.reset();
  ImGuiTestEngine_DestroyContext(engine_);
}

void UiDriver::pictures(int count) {
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(viewer_->picture());
    ImGuiTestEngine_PostSwap(engine_);
  }
}

void UiDriver::press(ImGuiKeyChord key, int times) {
  use([&](ImGuiTestContext& user) {
    for (int i = 0; i < times; ++i) {
      user.KeyPress(key);
      user.Yield(2);
    }
  });
}

void UiDriver::in(const char* panel, const std::function<void(ImGuiTestContext&)>& steps) {
  use([&](ImGuiTestContext& user) {
    user.SetRef((std::string("//") + panel).c_str());
    user.WindowFocus("");
    steps(user);
    user.Yield(2);
  });
}

void UiDriver::use(const std::function<void(ImGuiTestContext&)>& steps) {
  ImGuiTest* test = ImGuiTestEngine_RegisterTest(engine_, "viewer", "use");
  test->UserData = const_cast<std::function<void(ImGuiTestContext&)>*>(&steps);
  test->TestFunc = [](ImGuiTestContext* context) {
    (*static_cast<std::function<void(ImGuiTestContext&)>*>(context->Test->UserData))(*context);
  };
  ImGuiTestEngine_QueueTest(engine_, test, ImGuiTestRunFlags_RunFromCommandLine);
  do {
    pictures(1);
  } while (!ImGuiTestEngine_IsTestQueueEmpty(engine_) && !::testing::Test::HasFatalFailure());
  ImGuiTextBuffer said;
  test->Output.Log.ExtractLinesForVerboseLevels(ImGuiTestVerboseLevel_Silent, ImGuiTestVerboseLevel_Warning, &said);
  EXPECT_EQ(test->Output.Status, ImGuiTestStatus_Success) << said.c_str();
  ImGuiTestEngine_UnregisterTest(engine_, test);
}

}  // namespace hotloop
