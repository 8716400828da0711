// The real window of the viewer under an X server of the test's own, and Dear ImGui's test engine as its user.
#pragma once
#include <imgui_te_context.h>
#include <imgui_te_engine.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/viz/fake_source.h"
#include "viz/ui/view.h"
#include "viz/viewer.h"

namespace hotloop {

// Xvfb on a display that is free; sets DISPLAY. Its absence is an Error.
class Display {
 public:
  Display();
  ~Display();
  void kill();

 private:
  pid_t server_ = -1;
};

// The display that all tests of this process share.
Display& shared_display();

class UiDriver {
 public:
  explicit UiDriver(WorldSource& source, ViewerOptions options = small_window());
  ~UiDriver();

  // What a user does; waits until it is done. A step that the test engine could not do fails the test.
  void use(const std::function<void(ImGuiTestContext&)>& steps);
  void pictures(int count);
  void press(ImGuiKeyChord key, int times = 1);
  // With the panel in front and the names of its items relative to it.
  void in(const char* panel, const std::function<void(ImGuiTestContext&)>& steps);

  View& view() { return viewer_->view(); }
  Viewer& viewer() { return *viewer_; }

  // 800 x 560, no layout of the user's, as fast as it goes.
  static ViewerOptions small_window();
  // The same with time standing still.
  static ViewerOptions paused_window();

 private:
  std::unique_ptr<Viewer> viewer_;
  ImGuiTestEngine* engine_ = nullptr;
};

}  // namespace hotloop
