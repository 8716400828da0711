// The keys of the viewer: one table that is dispatched and that the help overlay shows. Where MuJoCo's simulate has a
// key for something, it is that key.
#pragma once
#include <imgui.h>

#include <span>
#include <string>

#include "viz/ui/view.h"

namespace hotloop {

struct KeyBinding {
  ImGuiKeyChord chord;
  const char* group;
  const char* text;
  void (*act)(View&);
  bool repeats = false;  // while the key is held
};
std::span<const KeyBinding> key_bindings();
// What stands on the keys: "Ctrl+=", "Shift+Left".
std::string key_text(ImGuiKeyChord chord);

// Once a picture: acts on the keys that went down, unless a text field has them or shortcuts are off (F1 works always).
void dispatch_keys(View& view);

// The window with all keys and what the mouse does.
void draw_help(View& view);

}  // namespace hotloop
