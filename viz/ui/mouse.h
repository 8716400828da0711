// What the mouse does in the scene: one table that is dispatched and that the help overlay shows, as MuJoCo's simulate
// has it.
#pragma once
#include <imgui.h>

#include <span>

#include "viz/scene/scene.h"
#include "viz/ui/view.h"

namespace hotloop {

struct MouseEvent {
  Scene& scene;
  int x, y;      // in the picture [its pixels], y down
  float dx, dy;  // parts of the picture's height; of the wheel: dy steps
};

struct MouseBinding {
  enum class Kind { drag, double_click, wheel };
  const char* gesture;
  const char* text;
  Kind kind;
  ImGuiMouseButton button;
  ImGuiKeyChord mods;
  void (*act)(View&, const MouseEvent&);
};
std::span<const MouseBinding> mouse_bindings();

// After the scene's picture was submitted as an item that takes all buttons. scale: its pixels per pixel of the
// window's coordinates.
void dispatch_mouse(View& view, Scene& scene, float scale);

// The camera as at the start, far enough off for the shown worlds.
void align_camera(View& view);

}  // namespace hotloop
