// The viewer: a window on a source of worlds.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "viz/scene/scene.h"
#include "viz/source/world_source.h"

namespace hotloop {

struct View;   // viz/ui/view.h
class Window;  // viz/ui/window.h

struct ViewerOptions {
  int width = 1600, height = 900;
  bool paused = false;
  bool keep_layout = true;  // false: neither reads nor writes the layout's file
  std::string layout_file;  // instead of the user's own
  Quality quality = Quality::automatic;
  std::string camera;                     // name of a camera of the model to begin with
  double most_pictures = 120;             // a second, where the screen does not set the pace; 0: no limit
  std::string picture_folder = ".";       // for screenshots
  std::function<void()> in_picture = {};  // tests: what may go wrong while one looks
};

// The window with everything in it, a picture at a time.
class Viewer {
 public:
  // Error, one line, where there is no window to be had or no such camera.
  Viewer(WorldSource& source, const ViewerOptions& options);
  ~Viewer();

  // Input, time, picture. False once the user wants to leave. Error where the display went away.
  bool picture();

  View& view();
  Window& window();

 private:
  struct Parts;
  void apply_settings();
  void move_time(double elapsed);
  void take_shot();
  std::unique_ptr<Parts> parts_;
};

// Until the window is closed or a signal has come; the exit status.
int run_viewer(WorldSource& source, const ViewerOptions& options);

}  // namespace hotloop
